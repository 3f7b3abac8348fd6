#include "trainer/weights/transpose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "storage/base/shuffle.h"

namespace berth {
namespace {

// A tile is so wide and tall that reading and writing each touch several successive cache lines.
// With one cache line a row, transposing takes two and a half times as long.
constexpr size_t kTileRows = 64, kTileColumns = 64;

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

// Transposes blocks of 4 x 4 in registers. This form exists because most files hold 32-bit numbers.
void transpose_tile(const Tile<uint32_t>& from, TransposedTile<uint32_t>& to) {
  using Four = uint32_t __attribute__((vector_size(16)));
  for (size_t row = 0; row < kTileRows; row += 4) {
    for (size_t column = 0; column < kTileColumns; column += 4) {
      Four in[4];
      for (size_t i = 0; i < 4; ++i) std::memcpy(&in[i], &from[row + i][column], sizeof in[i]);
      const Four low01 = BERTH_SHUFFLE(in[0], in[1], 0, 4, 1, 5);
      const Four low23 = BERTH_SHUFFLE(in[2], in[3], 0, 4, 1, 5);
      const Four high01 = BERTH_SHUFFLE(in[0], in[1], 2, 6, 3, 7);
      const Four high23 = BERTH_SHUFFLE(in[2], in[3], 2, 6, 3, 7);
      const Four out[4] = {
          BERTH_SHUFFLE(low01, low23, 0, 1, 4, 5), BERTH_SHUFFLE(low01, low23, 2, 3, 6, 7),
          BERTH_SHUFFLE(high01, high23, 0, 1, 4, 5), BERTH_SHUFFLE(high01, high23, 2, 3, 6, 7)};
      for (size_t i = 0; i < 4; ++i) std::memcpy(&to[column + i][row], &out[i], sizeof out[i]);
    }
  }
}

// Transposes a copy of one tile after the other and never reads a column from the matrix itself.
// Rows whose distance is a power of two share one cache set, which has only a few lines.
template <typename Element>
void transpose(const std::byte* from, size_t stride, std::byte* to, size_t rows, size_t columns) {
  Tile<Element> in{};
  TransposedTile<Element> out;
  for (size_t row0 = 0; row0 < rows; row0 += kTileRows) {
    const size_t height = std::min(kTileRows, rows - row0);
    for (size_t column0 = 0; column0 < columns; column0 += kTileColumns) {
      const size_t width = std::min(kTileColumns, columns - column0);
      for (size_t row = 0; row < height; ++row) {
        std::memcpy(in[row], from + ((row0 + row) * stride + column0) * sizeof(Element),
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

void transpose(const Matrix& matrix, int64_t first_column, int64_t count,
               std::vector<std::byte>& result) {
  const auto rows = static_cast<size_t>(matrix.rows), stride = static_cast<size_t>(matrix.columns);
  const auto first = static_cast<size_t>(first_column), columns = static_cast<size_t>(count);
  assert(matrix.bytes.size() == rows * stride * matrix.element_size && first + columns <= stride);
  result.resize(rows * columns * matrix.element_size);
  if (result.empty()) return;
  const std::byte* const from = matrix.bytes.data() + first * matrix.element_size;
  switch (matrix.element_size) {
    case 1:
      return transpose<uint8_t>(from, stride, result.data(), rows, columns);
    case 2:
      return transpose<uint16_t>(from, stride, result.data(), rows, columns);
    case 4:
      return transpose<uint32_t>(from, stride, result.data(), rows, columns);
    default:
      assert(matrix.element_size == 8);
      return transpose<uint64_t>(from, stride, result.data(), rows, columns);
  }
}

}  // namespace berth
