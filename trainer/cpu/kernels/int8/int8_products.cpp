#include "trainer/cpu/kernels/int8/int8_products.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "trainer/cpu/kernels/gemm.h"

namespace berth {
namespace {

// Numbers of bf16 in fp32.
void widen(const std::byte* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t number;
    std::memcpy(&number, from + 2 * i, sizeof number);
    to[i] = std::bit_cast<float>(uint32_t{number} << 16);
  }
}

// A tile's rows and their sums fit the second-level cache.
constexpr int64_t kTileBytesPerDepth = 96, kTileColumns = 256;

}  // namespace

// Rows whose distance is a multiple of 4 KiB would share few lines of the first-level cache.
int64_t Int8Products::row_stride(int64_t depth) const {
  constexpr int64_t kCacheLine = 64;
  return loops_.padded(depth) * loops_.row_element_bytes + kCacheLine;
}

int64_t Int8Products::tile_rows() const {
  return kTileBytesPerDepth / loops_.row_element_bytes / loops_.panel_rows * loops_.panel_rows;
}

size_t Int8Products::scratch_bytes(int64_t depth) const {
  const int64_t bytes =
      tile_rows() * (row_stride(depth) + (1 + kTileColumns) * static_cast<int64_t>(sizeof(float)));
  return static_cast<size_t>(pool_.size() * bytes);
}

size_t Int8Products::matrix_bytes(int64_t depth, int64_t columns) const {
  const int64_t whole = pieces_of(columns, loops_.panel_columns) * loops_.panel_columns;
  const int64_t bytes =
      loops_.padded(depth) + static_cast<int64_t>(sizeof(float) + sizeof(int32_t));
  return static_cast<size_t>(whole * bytes);
}

Int8Matrix Int8Products::pack(ConstTensor w) {
  const int64_t width = loops_.panel_columns, depth = w.columns(), columns = w.rows();
  const int64_t panels = pieces_of(columns, width), panel_bytes = loops_.padded(depth) * width;
  Int8Matrix packed{.depth = depth,
                    .columns = columns,
                    .panels = Memory(static_cast<size_t>(panels * panel_bytes)),
                    .scales = std::vector<float>(static_cast<size_t>(panels * width)),
                    .beginning = std::vector<int32_t>(static_cast<size_t>(panels * width))};
  pool_.parallel_for(panels, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * width;
      pack_int8_columns(loops_, w.f32() + first * depth, std::min(width, columns - first), depth,
                        reinterpret_cast<int8_t*>(packed.panels.data()) + panel * panel_bytes,
                        packed.scales.data() + first, packed.beginning.data() + first);
    }
  });
  return packed;
}

void Int8Products::multiply(const Int8Matrix& right, const Product& product,
                            const SumsFunction& use, const TileFunction& after) {
  assert(!product.add && product.scale == 1 && !product.a.transposed);
  assert(product.k == right.depth && product.n == right.columns);
  rows_.resize(static_cast<size_t>(pool_.size()));
  for (Rows& rows : rows_) rows.first = -1;
  for_each_small_tile(
      pool_, product.m, product.n, product.k, {loops_.panel_rows, loops_.panel_columns},
      {tile_rows(), kTileColumns}, [&](const Tile& tile, int thread) {
        Rows& rows = rows_[static_cast<size_t>(thread)];
        if (rows.first != tile.row) quantize(product, tile, rows);
        if (product.c == nullptr) {
          rows.sums.resize(static_cast<size_t>(tile_rows() * kTileColumns));
          multiply_tile(right, product, tile, rows, rows.sums.data(), tile.columns);
          return use(tile, rows.sums.data());
        }
        multiply_tile(right, product, tile, rows,
                      product.c + tile.row * product.c_stride + tile.column, product.c_stride);
        if (after) after(tile);
      });
}

// All tiles with the same first row have the same rows.
void Int8Products::quantize(const Product& product, const Tile& tile, Rows& rows) const {
  const int64_t stride = row_stride(product.k);
  const auto room = static_cast<size_t>(tile_rows() * stride);
  if (rows.numbers.size() < room) rows.numbers.resize(room);
  rows.scales.resize(static_cast<size_t>(tile_rows()));
  rows.first = tile.row;
  std::vector<float> wide(product.a.dtype == DType::kBF16 ? static_cast<size_t>(product.k) : 0);
  for (int64_t i = 0; i < tile.rows; ++i) {
    const Factor row = product.a.from(tile.row + i, 0);
    if (!wide.empty()) widen(row.data, product.k, wide.data());
    rows.scales[static_cast<size_t>(i)] = loops_.quantize(
        wide.empty() ? row.f32() : wide.data(), product.k, rows.numbers.data() + i * stride);
  }
}

void Int8Products::multiply_tile(const Int8Matrix& right, const Product& product, const Tile& tile,
                                 const Rows& rows, float* c, int64_t c_stride) const {
  const int64_t depth = loops_.padded(product.k), stride = row_stride(product.k);
  const int64_t height = loops_.panel_rows, width = loops_.panel_columns;
  const auto* const panels = reinterpret_cast<const int8_t*>(right.panels.data());
  if (loops_.begin != nullptr) loops_.begin();
  for (int64_t column = tile.column; column < tile.column + tile.columns; column += width) {
    const Int8Columns panel{panels + column * depth, right.scales.data() + column,
                            right.beginning.data() + column};
    const Addend bias{product.bias == nullptr ? nullptr : product.bias + column, 0};
    const int64_t columns = std::min(width, tile.column + tile.columns - column);
    for (int64_t i = 0; i < tile.rows; i += height) {
      loops_.multiply(rows.numbers.data() + i * stride, stride, rows.scales.data() + i, panel,
                      depth, std::min(height, tile.rows - i), columns, bias,
                      c + i * c_stride + column - tile.column, c_stride);
    }
  }
  if (loops_.end != nullptr) loops_.end();
}

}  // namespace berth
