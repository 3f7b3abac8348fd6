#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// [rows, columns], row-major; elements of 1, 2, 4 or 8 bytes, aligned or not.
struct Matrix {
  Bytes bytes;
  int64_t rows, columns;
  size_t element_size;
};

// Columns [first_column, first_column + count) as the rows of [count, rows]. Overwrites `result`.
void transpose(const Matrix& matrix, int64_t first_column, int64_t count,
               std::vector<std::byte>& result);

}  // namespace berth
