#include "trainer/kernels/cpu/bf16/bf16_products.h"

#include <algorithm>
#include <cassert>

#include "trainer/kernels/cpu/host_memory.h"

namespace berth {
namespace {

// A slab of depth: a panel of columns (20 KB) and one of rows fit the first cache, kBlockRows rows
// (120 KB) and what they make of kBlockColumns columns (590 KB) the second, slab after slab.
// Columns that are packed for one product alone are so for several slabs at once (4 MB).
constexpr int64_t kSlabDepth = 320, kBlockSlabs = 8;
constexpr int64_t kBlockRows = 192, kBlockColumns = 24 * kPanelColumns;

// What a thread packs into, elements.
constexpr size_t kRowsScratch = kBlockRows * kSlabDepth;
constexpr size_t kColumnsScratch = kBlockColumns * kBlockSlabs * kSlabDepth;

int64_t round_up(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Slabs of nearly the same depth.
int64_t slab_depth(const Bf16Loops& loops, int64_t depth) {
  const int64_t slabs = (depth + kSlabDepth - 1) / kSlabDepth;
  return loops.padded((depth + slabs - 1) / slabs);
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

// Columns [column, column + columns) and depths [first, first + depth) of a product, and the right
// factor's panels of them, of `panel_depth`.
struct Block {
  int64_t column, columns, first, depth;
  const uint16_t* panels = nullptr;
  int64_t panel_depth = 0;
};

void pack_block(const Bf16Loops& loops, const Product& p, const Block& block, uint16_t* panels) {
  for (int64_t n = 0; n < block.columns; n += kPanelColumns) {
    const int64_t count = std::min(kPanelColumns, block.columns - n);
    loops.pack_columns(columns_of(p.b, block.column + n, count, block.depth, block.first),
                       panels + n * block.panel_depth);
  }
}

// kBlockRows rows of a block, from `row` on, a slab of depth after the other.
void multiply_rows(const Bf16Loops& loops, const Product& p, const Block& block, int64_t slab,
                   int64_t row, uint16_t* row_panels) {
  const int64_t rows = std::min(kBlockRows, p.m - row), height = loops.panel_rows;
  for (int64_t d = 0; d < block.depth; d += slab) {
    const int64_t depth = std::min(slab, block.depth - d), first = block.first + d;
    const int64_t padded = loops.padded(depth);
    for (int64_t m = 0; m < rows; m += height) {
      loops.pack_rows(rows_of(p.a, row + m, std::min(height, rows - m), depth, first),
                      row_panels + m * padded);
    }
    for (int64_t n = 0; n < block.columns; n += kPanelColumns) {
      for (int64_t m = 0; m < rows; m += height) {
        loops.multiply(
            row_panels + m * padded, block.panels + n * block.panel_depth + d * kPanelColumns,
            padded, std::min(height, rows - m), std::min(kPanelColumns, block.columns - n),
            p.add || first > 0, p.c + (row + m) * p.c_stride + block.column + n, p.c_stride);
      }
    }
  }
}

}  // namespace

uint16_t* Bf16Matrix::panel(int64_t column) const {
  assert(column % kPanelColumns == 0);
  return reinterpret_cast<uint16_t*>(panels->data()) + column * panel_depth;
}

Bf16Products::Bf16Products(ThreadPool& pool, const Bf16Loops& loops)
    : pool_(pool), loops_(loops), scratch_(static_cast<size_t>(pool.size())) {
  assert(kBlockRows % loops.panel_rows == 0 && kSlabDepth % loops.depth_multiple == 0);
  for (Scratch& scratch : scratch_) {
    scratch.rows.resize(kRowsScratch);
    scratch.columns.resize(kColumnsScratch);
  }
}

size_t Bf16Products::scratch_bytes() const {
  return scratch_.size() * (kRowsScratch + kColumnsScratch) * sizeof(uint16_t);
}

Bf16Matrix Bf16Products::make_matrix(int64_t depth, int64_t columns) const {
  return {.depth = depth,
          .columns = columns,
          .panel_depth = loops_.padded(depth),
          .panels = allocate_host(matrix_bytes(depth, columns))};
}

size_t Bf16Products::matrix_bytes(int64_t depth, int64_t columns) const {
  return static_cast<size_t>(loops_.padded(depth) * round_up(columns, kPanelColumns)) *
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
  for_each_tile(pool_, product.m, product.n, product.k, {loops_.panel_rows, kPanelColumns},
                [&](const Tile& tile, int thread) {
                  if (before) before(tile);
                  multiply_tile(product.part(tile),
                                right == nullptr ? nullptr : right->panel(tile.column),
                                loops_.padded(product.k), scratch_[static_cast<size_t>(thread)]);
                  if (after) after(tile);
                });
}

void Bf16Products::multiply_tile(const Product& p, const uint16_t* right, int64_t right_depth,
                                 Scratch& scratch) const {
  if (p.k == 0) {
    if (!p.add) clear(p);
    return;
  }
  if (loops_.begin != nullptr) loops_.begin();
  const int64_t slab = slab_depth(loops_, p.k);
  const int64_t depth = right != nullptr ? p.k : kBlockSlabs * slab;
  for (int64_t column = 0; column < p.n; column += kBlockColumns) {
    for (int64_t first = 0; first < p.k; first += depth) {
      Block block{.column = column,
                  .columns = std::min(kBlockColumns, p.n - column),
                  .first = first,
                  .depth = std::min(depth, p.k - first)};
      block.panel_depth = right != nullptr ? right_depth : loops_.padded(block.depth);
      block.panels = right != nullptr ? right + column * right_depth : scratch.columns.data();
      if (right == nullptr) pack_block(loops_, p, block, scratch.columns.data());
      for (int64_t row = 0; row < p.m; row += kBlockRows) {
        multiply_rows(loops_, p, block, slab, row, scratch.rows.data());
      }
    }
  }
  if (loops_.end != nullptr) loops_.end();
}

}  // namespace berth
