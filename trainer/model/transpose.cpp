#include "trainer/model/transpose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {
namespace {

constexpr size_t kTile = 32;

// Tile by tile through a copy of its own: rows whose distance is a power of two share the few lines
// of one cache set, so a column is never read from the matrix itself.
template <typename Element>
void transpose(const std::byte* from, std::byte* to, size_t rows, size_t columns) {
  Element tile[kTile][kTile], row_of[kTile];
  for (size_t row0 = 0; row0 < rows; row0 += kTile) {
    const size_t height = std::min(kTile, rows - row0);
    for (size_t column0 = 0; column0 < columns; column0 += kTile) {
      const size_t width = std::min(kTile, columns - column0);
      for (size_t row = 0; row < height; ++row) {
        std::memcpy(row_of, from + ((row0 + row) * columns + column0) * sizeof(Element),
                    width * sizeof(Element));
        for (size_t column = 0; column < width; ++column) tile[column][row] = row_of[column];
      }
      for (size_t column = 0; column < width; ++column) {
        std::memcpy(to + ((column0 + column) * rows + row0) * sizeof(Element), tile[column],
                    height * sizeof(Element));
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
