#include "trainer/xla/layout/row_packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

RowPacking pack_rows(std::span<const int32_t> cu_seqlens, int64_t row_length) {
  const size_t sequences = cu_seqlens.size() - 1;
  const auto length = [&](size_t b) { return int64_t{cu_seqlens[b + 1]} - cu_seqlens[b]; };
  std::vector<size_t> longest_first(sequences);
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](size_t a, size_t b) { return length(a) > length(b); });

  RowPacking packing{
      .rows = 0, .row = std::vector<int32_t>(sequences), .column = std::vector<int32_t>(sequences)};
  std::set<std::pair<int64_t, int64_t>> free_columns;  // of each row that has any: {columns, row}
  for (const size_t b : longest_first) {
    if (length(b) > row_length) {
      throw Error(Code::kInternal,
                  cat("a sequence of ", length(b), " tokens, where rows have ", row_length));
    }
    const auto found = free_columns.lower_bound({length(b), 0});
    std::pair<int64_t, int64_t> place;
    if (found == free_columns.end()) {
      place = {row_length, packing.rows++};
    } else {
      place = *found;
      free_columns.erase(found);
    }
    packing.row[b] = static_cast<int32_t>(place.second);
    packing.column[b] = static_cast<int32_t>(row_length - place.first);
    place.first -= (length(b) + 7) / 8 * 8;
    if (place.first > 0) free_columns.insert(place);
  }
  return packing;
}

}  // namespace berth
