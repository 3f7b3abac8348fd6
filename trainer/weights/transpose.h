#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A row-major matrix [rows, columns]. Elements have 1, 2, 4 or 8 bytes and may be unaligned.
struct Matrix {
  Bytes bytes;
  int64_t rows, columns;
  size_t element_size;
};

// Overwrites `result` with columns [first_column, first_column + count) as the rows of a matrix
// [count, rows].
void transpose(const Matrix& matrix, int64_t first_column, int64_t count,
               std::vector<std::byte>& result);

}  // namespace berth
