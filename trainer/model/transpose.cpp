#include "trainer/model/transpose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {
namespace {

// Tall, so that what is written goes on for some cache lines.
constexpr size_t kTileRows = 128, kTileColumns = 16;

template <typename Element>
using Tile = Element[kTileRows][kTileColumns];
template <typename Element>
using TransposedTile = Element[kTileColumns][kTileRows];

template <typename Element>
void transpose_tile(const Tile<Element>& from, TransposedTile<Element>& to) {
  for (size_t row = 0; row < kTileRows; ++row) {
    for (size_t column = 0; column < kTileColumns; ++column) to[column][row] = from[row][column];
  }
}

// In fours, which registers hold: most files are of 32-bit numbers.
void transpose_tile(const Tile<uint32_t>& from, TransposedTile<uint32_t>& to) {
  using Four = uint32_t __attribute__((vector_size(16)));
  for (size_t row = 0; row < kTileRows; row += 4) {
    for (size_t column = 0; column < kTileColumns; column += 4) {
      Four in[4];
      for (size_t i = 0; i < 4; ++i) std::memcpy(&in[i], &from[row + i][column], sizeof in[i]);
      const Four low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
      const Four low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
      const Four high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
      const Four high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
      const Four out[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                           __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                           __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                           __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
      for (size_t i = 0; i < 4; ++i) std::memcpy(&to[column + i][row], &out[i], sizeof out[i]);
    }
  }
}

// Tile by tile through copies of their own: rows whose distance is a power of two share the few
// lines of one cache set, so a column is never read from the matrix itself.
template <typename Element>
void transpose(const std::byte* from, std::byte* to, size_t rows, size_t columns) {
  Tile<Element> in{};
  TransposedTile<Element> out;
  for (size_t row0 = 0; row0 < rows; row0 += kTileRows) {
    const size_t height = std::min(kTileRows, rows - row0);
    for (size_t column0 = 0; column0 < columns; column0 += kTileColumns) {
      const size_t width = std::min(kTileColumns, columns - column0);
      for (size_t row = 0; row < height; ++row) {
        std::memcpy(in[row], from + ((row0 + row) * columns + column0) * sizeof(Element),
                    width * sizeof(Element));
      }
      transpose_tile(in, out);
      for (size_t column = 0; column < width; ++column) {
        std::memcpy(to + ((column0 + column) * rows + row0) * sizeof(Element), out[column],
                    height * sizeof(Element));
      }
    }
  }
}

}  // namespace

void transpose(Bytes matrix, int64_t rows, int64_t columns, size_t element_size,
               std::vector<std::byte>& result) {
  const auto height = static_cast<size_t>(rows), width = static_cast<size_t>(columns);
  assert(matrix.size() == height * width * element_size);
  result.resize(matrix.size());
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
}

}  // namespace berth
