#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// Where sequences lie in rows of a fixed length. Each lies whole in one row and begins at a column
// that is a multiple of 8.
struct RowPacking {
  int64_t rows = 0;
  std::vector<int32_t> row, column;  // of each sequence: its row, and the column of its first token
};

// Packs the sequences, sequence b being the tokens from cu_seqlens[b] to cu_seqlens[b+1]. Longest
// first, each goes to the fullest row that has room for it (best-fit decreasing; Johnson et al.
// 1974, SIAM J. Comput. 3:299). The same lengths are always packed in the same way. Throws
// kInternal for a sequence longer than `row_length`.
RowPacking pack_rows(std::span<const int32_t> cu_seqlens, int64_t row_length);

}  // namespace berth
