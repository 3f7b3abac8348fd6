#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// [rows, columns] -> [columns, rows], row-major; elements of 1, 2, 4 or 8 bytes, aligned or not.
// Overwrites `result`.
void transpose(Bytes matrix, int64_t rows, int64_t columns, size_t element_size,
               std::vector<std::byte>& result);

}  // namespace berth
