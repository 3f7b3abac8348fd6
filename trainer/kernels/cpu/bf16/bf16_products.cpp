#include "trainer/kernels/cpu/bf16/bf16_products.h"

#include <algorithm>
#include <cassert>

#include "trainer/kernels/cpu/host_memory.h"

namespace berth {
namespace {

// A slab: its panel of columns (20 KB) and one of rows fit the first cache, its rows (120 KB) and,
// where they are packed for this product alone, its columns (480 KB) the second.
constexpr int64_t kSlabDepth = 320, kSlabRows = 16 * kPanelRows, kSlabColumns = 24 * kPanelColumns;

int64_t round_up(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Slabs of nearly the same depth, an even number.
int64_t slab_depth(int64_t depth) {
  const int64_t slabs = (depth + kSlabDepth - 1) / kSlabDepth;
  return even((depth + slabs - 1) / slabs);
}

Lanes rows_of(const Factor& left, int64_t row, int64_t count, int64_t depth, int64_t first) {
  return {.data = left.at(row, first),
          .lane_stride = left.transposed ? 1 : left.stride,
          .depth_stride = left.transposed ? left.stride : 1,
          .count = count,
          .depth = depth};
}

Lanes columns_of(const Factor& right, int64_t column, int64_t count, int64_t depth, int64_t first) {
  return {.data = right.at(first, column),
          .lane_stride = right.transposed ? right.stride : 1,
          .depth_stride = right.transposed ? 1 : right.stride,
          .count = count,
          .depth = depth};
}

void clear(const Product& product) {
  for (int64_t row = 0; row < product.m; ++row) {
    std::fill_n(product.c + row * product.c_stride, product.n, 0.0f);
  }
}

}  // namespace

Bf16Matrix::Bf16Matrix(int64_t matrix_depth, int64_t matrix_columns)
    : depth(matrix_depth),
      columns(matrix_columns),
      panels(allocate_host(size_bytes(depth, columns))) {}

size_t Bf16Matrix::size_bytes(int64_t depth, int64_t columns) {
  return static_cast<size_t>(even(depth) * round_up(columns, kPanelColumns)) * sizeof(uint16_t);
}

uint16_t* Bf16Matrix::panel(int64_t column) const {
  assert(column % kPanelColumns == 0);
  return reinterpret_cast<uint16_t*>(panels->data()) + column * even(depth);
}

Bf16Products::Bf16Products(ThreadPool& pool, const Bf16Loops& loops)
    : pool_(pool), loops_(loops), scratch_(static_cast<size_t>(pool.size())) {
  for (Scratch& scratch : scratch_) {
    scratch.rows.resize(static_cast<size_t>(kSlabRows * even(kSlabDepth)));
    scratch.columns.resize(static_cast<size_t>(kSlabColumns * even(kSlabDepth)));
  }
}

size_t Bf16Products::scratch_bytes() const {
  return scratch_.size() * static_cast<size_t>((kSlabRows + kSlabColumns) * even(kSlabDepth)) *
         sizeof(uint16_t);
}

void Bf16Products::pack(const Factor& right, Bf16Matrix& packed) {
  const int64_t count = (packed.columns + kPanelColumns - 1) / kPanelColumns;
  pool_.parallel_for(count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t column = begin * kPanelColumns; column < end * kPanelColumns;
         column += kPanelColumns) {
      const int64_t lanes = std::min(kPanelColumns, packed.columns - column);
      if (lanes <= 0) break;
      loops_.pack_columns(columns_of(right, column, lanes, packed.depth, 0), packed.panel(column));
    }
  });
}

void Bf16Products::multiply(const Product& product, const Bf16Matrix* right,
                            const TileFunction& before, const TileFunction& after) {
  assert(product.scale == 1);
  assert(right == nullptr || (right->depth == product.k && right->columns == product.n));
  for_each_tile(pool_, product.m, product.n, product.k, {kPanelRows, kPanelColumns},
                [&](const Tile& tile, int thread) {
                  if (before) before(tile);
                  multiply_tile(product.part(tile),
                                right == nullptr ? nullptr : right->panel(tile.column),
                                even(product.k), scratch_[static_cast<size_t>(thread)]);
                  if (after) after(tile);
                });
}

void Bf16Products::multiply_tile(const Product& p, const uint16_t* right, int64_t right_depth,
                                 Scratch& scratch) const {
  if (p.k == 0) {
    if (!p.add) clear(p);
    return;
  }
  const int64_t slab_columns = right == nullptr ? kSlabColumns : p.n;
  for (int64_t column = 0; column < p.n; column += slab_columns) {
    const int64_t columns = std::min(slab_columns, p.n - column);
    for (int64_t d = 0, slab = slab_depth(p.k); d < p.k; d += slab) {
      const int64_t depth = std::min(slab, p.k - d);
      const uint16_t* panels = scratch.columns.data();
      int64_t panel_depth = even(depth);
      if (right != nullptr) {
        panels = right + d * kPanelColumns;
        panel_depth = right_depth;
      } else {
        for (int64_t n = 0; n < columns; n += kPanelColumns) {
          loops_.pack_columns(
              columns_of(p.b, column + n, std::min(kPanelColumns, columns - n), depth, d),
              scratch.columns.data() + n * panel_depth);
        }
      }
      for (int64_t row = 0; row < p.m; row += kSlabRows) {
        const int64_t rows = std::min(kSlabRows, p.m - row);
        for (int64_t m = 0; m < rows; m += kPanelRows) {
          loops_.pack_rows(rows_of(p.a, row + m, std::min(kPanelRows, rows - m), depth, d),
                           scratch.rows.data() + m * even(depth));
        }
        for (int64_t n = 0; n < columns; n += kPanelColumns) {
          for (int64_t m = 0; m < rows; m += kPanelRows) {
            loops_.multiply(scratch.rows.data() + m * even(depth), panels + n * panel_depth,
                            even(depth), std::min(kPanelRows, rows - m),
                            std::min(kPanelColumns, columns - n), p.add || d > 0,
                            p.c + (row + m) * p.c_stride + column + n, p.c_stride);
          }
        }
      }
    }
  }
}

}  // namespace berth
