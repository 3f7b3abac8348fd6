#include "trainer/distributed/marked_rows.h"

#include <cstddef>
#include <vector>

namespace berth {

void unite_marks(Communicator& ranks, std::span<const std::span<int32_t>> marks, int32_t mark) {
  size_t rows = 0;
  for (const std::span<int32_t> table : marks) rows += table.size();
  const size_t bytes = (rows + 7) / 8;
  if (bytes == 0) return;
  std::vector<uint8_t> own(bytes, 0), all(bytes * static_cast<size_t>(ranks.size()));
  const auto for_each_row = [&](const auto& visit) {
    size_t bit = 0;
    for (const std::span<int32_t> table : marks) {
      for (int32_t& row : table) visit(bit++, row);
    }
  };
  for_each_row([&](size_t bit, int32_t row) {
    if ((row & mark) == mark) own[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
  });
  ranks.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (size_t i = 0; i < all.size(); ++i) own[i % bytes] |= all[i];
  for_each_row([&](size_t bit, int32_t& row) {
    if ((own[bit / 8] >> bit % 8 & 1) != 0) row |= mark;
  });
}

}  // namespace berth
