#include "trainer/distributed/communicator.h"

#include <algorithm>

namespace berth {

std::vector<std::vector<double>> gather_values(Communicator& ranks,
                                               std::span<const double> values) {
  const auto size = static_cast<size_t>(ranks.size());
  std::vector<double> all(size * values.size());
  ranks.all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<double>> rows;
  for (size_t r = 0; r < size; ++r) {
    const auto row = std::span(all).subspan(r * values.size(), values.size());
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<std::vector<std::byte>> gather_bytes(Communicator& ranks, Bytes bytes) {
  const auto size = static_cast<size_t>(ranks.size());
  std::vector<uint64_t> sizes(size);
  const uint64_t own = bytes.size();
  ranks.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(sizes)));
  const auto most = static_cast<size_t>(*std::ranges::max_element(sizes));
  std::vector<std::vector<std::byte>> all(size);
  if (most == 0) return all;
  std::vector<std::byte> padded(bytes.begin(), bytes.end()), received(size * most);
  padded.resize(most);
  ranks.all_gather(padded, received);
  for (size_t r = 0; r < size; ++r) {
    const auto part = std::span(received).subspan(r * most, static_cast<size_t>(sizes[r]));
    all[r].assign(part.begin(), part.end());
  }
  return all;
}

std::vector<std::byte> broadcast_bytes(Communicator& ranks, Bytes bytes) {
  uint64_t size = bytes.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  std::vector<std::byte> data(static_cast<size_t>(size));
  if (ranks.rank() == 0) std::ranges::copy(bytes, data.begin());
  if (size > 0) ranks.broadcast(data);
  return data;
}

bool is_so_on_rank_0(Communicator& ranks, bool is_so) {
  std::byte of_rank_0{is_so};
  ranks.broadcast(std::span(&of_rank_0, 1));
  return of_rank_0 != std::byte{0};
}

bool any_rank(Communicator& ranks, bool is_so) {
  const std::byte own{is_so};
  std::vector<std::byte> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(std::span(&own, 1), all);
  return std::ranges::any_of(all, [](std::byte each) { return each != std::byte{0}; });
}

}  // namespace berth
