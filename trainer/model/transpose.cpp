#include "trainer/model/transpose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {
namespace {

constexpr size_t kTile = 32;  // two tiles of eight-byte elements fit the first cache

template <typename Element>
void transpose(const std::byte* from, std::byte* to, size_t rows, size_t columns) {
  for (size_t row0 = 0; row0 < rows; row0 += kTile) {
    const size_t row_end = std::min(rows, row0 + kTile);
    for (size_t column0 = 0; column0 < columns; column0 += kTile) {
      const size_t column_end = std::min(columns, column0 + kTile);
      for (size_t column = column0; column < column_end; ++column) {
        for (size_t row = row0; row < row_end; ++row) {
          std::memcpy(to + (column * rows + row) * sizeof(Element),
                      from + (row * columns + column) * sizeof(Element), sizeof(Element));
        }
      }
    }
  }
}

}  // namespace

std::vector<std::byte> transposed(Bytes matrix, int64_t rows, int64_t columns,
                                  size_t element_size) {
  const auto height = static_cast<size_t>(rows), width = static_cast<size_t>(columns);
  assert(matrix.size() == height * width * element_size);
  std::vector<std::byte> result(matrix.size());
  switch (element_size) {
    case 1:
      transpose<uint8_t>(matrix.data(), result.data(), height, width);
      break;
    case 2:
      transpose<uint16_t>(matrix.data(), result.data(), height, width);
      break;
    case 4:
      transpose<uint32_t>(matrix.data(), result.data(), height, width);
      break;
    default:
      assert(element_size == 8);
      transpose<uint64_t>(matrix.data(), result.data(), height, width);
  }
  return result;
}

}  // namespace berth
