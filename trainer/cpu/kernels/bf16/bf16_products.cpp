#include "trainer/cpu/kernels/bf16/bf16_products.h"

#include <algorithm>
#include <cassert>

#include "trainer/cpu/kernels/gemm.h"

namespace berth {

uint16_t* Bf16Matrix::panel(int64_t column) const {
  assert(column % kPanelColumns == 0);
  return reinterpret_cast<uint16_t*>(panels.data()) + column * panel_depth;
}

Bf16Part Bf16Matrix::columns_from(int64_t first, int64_t count) const {
  assert(first + count <= columns);
  return {.depth = depth, .columns = count, .panel_depth = panel_depth, .panels = panel(first)};
}

// Pairs of depths follow one another in a panel, so depths from an even number on are a part of it.
Bf16Part Bf16Matrix::depths_from(int64_t first, int64_t count) const {
  assert(first % kPanelColumns == 0 && first + count <= depth);
  return {.depth = count,
          .columns = columns,
          .panel_depth = panel_depth,
          .panels = panel(0) + first * kPanelColumns};
}

namespace {

// The depth of a slab. A panel of columns (20 KB) and a panel of rows fit the first-level cache.
// The rows of a tile (60 or 120 KB) and their sums (590 KB) fit the second-level cache. Wide tiles
// use their packed rows for more columns, and tall tiles use the panels of columns for more rows.
constexpr int64_t kSlabDepth = 320;
constexpr TileSize kTallTile{192, 768}, kWideTile{96, 1536};

constexpr int64_t kTileSums = kTallTile.rows * kTallTile.columns;
static_assert(kTileSums == kWideTile.rows * kWideTile.columns);

TileSize tile_for(int64_t columns) { return columns > kTallTile.columns ? kWideTile : kTallTile; }

// Columns that are packed for one product only are packed in stripes. A stripe is as wide as a wide
// tile and as deep as the scratch memory allows, which is 4 MB for each thread.
constexpr int64_t kStripeColumns = kWideTile.columns;
constexpr size_t kColumnsScratch = kStripeColumns * 4 * kSlabDepth;
static_assert(kDeepestInTiles <= 4 * kSlabDepth);  // one block of columns has the whole depth

// A slab of this many rows (676 KB) stays in the second-level cache. Each panel of columns is then
// packed right before it is used, and is used for all rows.
constexpr int64_t kFewRows = 1056, kColumnsOfFewRows = 768;
constexpr size_t kRowsScratch = kFewRows * kSlabDepth;
static_assert(kFewRows >= kTallTile.rows);
constexpr int64_t kMostSums = std::max(kTileSums, kFewRows* kColumnsOfFewRows);

// Rows that are read where they lie stay in the second-level cache, with a panel of columns.
constexpr int64_t kRowsInPlace = 256, kElementsInPlace = int64_t{1} << 19;

// A packed matrix of this size is unlikely to be in a cache when it is read.
constexpr size_t kStreamedBytes = size_t{1} << 20;

// The depth of a slab, when slabs are cut to nearly the same depth.
int64_t slab_depth(const Bf16Loops& loops, int64_t depth) {
  const int64_t slabs = std::max<int64_t>(1, pieces_of(depth, kSlabDepth));
  return loops.padded(std::max<int64_t>(1, pieces_of(depth, slabs)));
}

Lanes rows_of(const Factor& left, int64_t row, int64_t count, int64_t depth, int64_t first) {
  return {.data = left.from(row, first).data,
          .lane_stride = left.transposed ? 1 : left.stride,
          .depth_stride = left.transposed ? left.stride : 1,
          .count = count,
          .depth = depth,
          .is_bf16 = left.dtype == DType::kBF16};
}

Lanes columns_of(const Factor& right, int64_t column, int64_t count, int64_t depth, int64_t first) {
  return {.data = right.from(first, column).data,
          .lane_stride = right.transposed ? right.stride : 1,
          .depth_stride = right.transposed ? 1 : right.stride,
          .count = count,
          .depth = depth,
          .is_bf16 = right.dtype == DType::kBF16};
}

}  // namespace

// Columns [column, column + columns) and depths [first, first + depth) of a product's right factor,
// and the panels that hold them, of depth `panel_depth`.
struct Bf16Products::Block {
  int64_t column, columns, first, depth;
  uint16_t* panels;
  int64_t panel_depth;

  int64_t count() const { return pieces_of(columns, kPanelColumns); }
  uint16_t* panel(int64_t at) const { return panels + (at - column) * panel_depth; }
};

namespace {

using Block = Bf16Products::Block;

// The whole of a right factor that is packed already.
Block block_of(const Bf16Part& right) {
  return {.column = 0,
          .columns = right.columns,
          .first = 0,
          .depth = right.depth,
          .panels = right.panels,
          .panel_depth = right.panel_depth};
}

// Calls fn(block) for parts of the right factor whose panels fit into `room` elements. A part has
// whole slabs of depth and at most `stripe` columns. All slabs of its columns come before the next
// columns.
template <typename Fn>
void for_each_block(const Bf16Loops& loops, const Product& p, int64_t stripe, uint16_t* panels,
                    size_t room, const Fn& fn) {
  const int64_t slab = slab_depth(loops, p.k);
  const int64_t columns = pieces_of(std::min(p.n, stripe), kPanelColumns) * kPanelColumns;
  const int64_t depth = static_cast<int64_t>(room) / columns / slab * slab;
  for (int64_t column = 0; column < p.n; column += columns) {
    int64_t first = 0;
    do {
      const int64_t taken = std::min(depth, p.k - first);
      fn(Block{.column = column,
               .columns = std::min(columns, p.n - column),
               .first = first,
               .depth = taken,
               .panels = panels,
               .panel_depth = loops.padded(taken)});
      first += depth;
    } while (first < p.k);
  }
}

// Packs panels [begin, end) of a block.
void pack_panels(const Bf16Loops& loops, const Product& p, const Block& block, int64_t begin,
                 int64_t end) {
  for (int64_t n = begin * kPanelColumns; n < end * kPanelColumns; n += kPanelColumns) {
    const int64_t count = std::min(kPanelColumns, block.columns - n);
    loops.pack_columns(columns_of(p.b, block.column + n, count, block.depth, block.first),
                       block.panel(block.column + n));
  }
}

void pack_block(ThreadPool& pool, const Bf16Loops& loops, const Product& p, const Block& block) {
  constexpr int64_t kLeastElements = 1 << 15;  // fewer are not worth waking a thread
  const int64_t grain = pieces_of(kLeastElements, kPanelColumns * (block.panel_depth + 1));
  pool.parallel_for(block.count(), grain, [&](int64_t begin, int64_t end, int) {
    pack_panels(loops, p, block, begin, end);
  });
}

// Prefetches the elements of the next panel into the second-level cache, before that panel is
// packed. It fetches some cache lines at a time, between the products of the current panel.
class Fetch {
 public:
  explicit Fetch(const Lanes& lanes) : at_(reinterpret_cast<const std::byte*>(lanes.data)) {
    const bool by_lanes = lanes.depth_stride == 1;
    runs_ = by_lanes ? lanes.count : lanes.depth;
    stride_bytes_ = (by_lanes ? lanes.lane_stride : lanes.depth_stride) * lanes.element_bytes();
    run_bytes_ = (by_lanes ? lanes.depth : lanes.count) * lanes.element_bytes();
  }

  int64_t lines() const { return runs_ * pieces_of(run_bytes_, kLineBytes); }
  void fetch(int64_t lines) {
    for (; lines > 0 && runs_ > 0; --lines) {
      __builtin_prefetch(at_ + passed_bytes_, /*rw=*/0, /*locality=*/2);
      passed_bytes_ += kLineBytes;
      if (passed_bytes_ < run_bytes_) continue;
      passed_bytes_ = 0;
      at_ += stride_bytes_;
      --runs_;
    }
  }

 private:
  static constexpr int64_t kLineBytes = 64;

  const std::byte* at_;  // where a run of contiguous elements begins
  int64_t runs_, stride_bytes_, run_bytes_, passed_bytes_ = 0;
};

// The addend of a slab's products, from element (row, column) of C on: the bias, nothing or C
// itself.
Addend addend_at(const Product& p, bool is_first, int64_t row, int64_t column) {
  if (is_first && p.bias != nullptr) return {p.bias + column, 0};
  if (is_first && !p.add) return {};
  return {p.c + row * p.c_stride + column, p.c_stride};
}

// Makes the part of a tile that belongs to a block, one slab of depth after the other.
void multiply_tile(const Bf16Loops& loops, const Product& p, const Block& block, const Tile& tile,
                   uint16_t* row_panels) {
  const int64_t height = loops.panel_rows, slab = slab_depth(loops, p.k);
  if (loops.begin != nullptr) loops.begin();
  for (int64_t d = 0; d < block.depth; d += slab) {
    const int64_t depth = std::min(slab, block.depth - d), first = block.first + d;
    const int64_t padded = loops.padded(depth);
    // The rows of this slab are packed once for all columns of the tile.
    loops.pack_rows(rows_of(p.a, tile.row, tile.rows, depth, first), row_panels);
    // Small blocks of C: `height` rows by a panel of columns. Later slabs add to the earlier ones.
    for (int64_t n = 0; n < tile.columns; n += kPanelColumns) {
      const uint16_t* const columns = block.panel(tile.column + n) + d * kPanelColumns;
      for (int64_t m = 0; m < tile.rows; m += height) {
        const int64_t row = tile.row + m, column = tile.column + n;
        loops.multiply(row_panels + m * padded, columns, padded, std::min(height, tile.rows - m),
                       std::min(kPanelColumns, tile.columns - n),
                       addend_at(p, first == 0, row, column), p.c + row * p.c_stride + column,
                       p.c_stride);
      }
    }
  }
  if (loops.end != nullptr) loops.end();
}

// Makes a whole tile with a block that has the whole depth. Writes the sums to `room` and not to C.
void sum_tile(const Bf16Loops& loops, const Product& p, const Block& block, const Tile& tile,
              uint16_t* row_panels, float* room) {
  const Tile whole{0, tile.rows, 0, tile.columns};
  Product part = p.part(tile);
  part.c = room;
  part.c_stride = tile.columns;
  Block columns = block;
  columns.column = 0;
  columns.panels = block.panel(tile.column);
  if (p.k == 0) begin_sums(part, whole);
  multiply_tile(loops, part, columns, whole, row_panels);
}

// The tiles of a product that reads its rows in place.
TileSize tile_in_place(const Product& p) {
  const int64_t fit = kElementsInPlace / std::max<int64_t>(1, p.k);
  const int64_t rows =
      std::clamp<int64_t>(fit / kPanelColumns * kPanelColumns, kPanelColumns, kRowsInPlace);
  return {rows, kWideTile.columns};
}

// What a product on tiles does while it multiplies a block: it brings the next panel of columns to
// the second-level cache, and it hands out the sums of the block before.
class Overlap {
 public:
  // Borrows `use`, which may be empty.
  explicit Overlap(const SumsFunction& use) : use_(use) {}
  ~Overlap() { finish(); }

  // The block before is finished. Its sums lie in `sums` until finish().
  void take(const Tile& block, float* sums) {
    finish();
    block_ = block;
    sums_ = sums;
  }
  void finish() {
    while (block_.rows > 0) hand_out(block_.rows);
  }
  // Fetches `lines` cache lines from `next` on, `each` of them in a step.
  void prefetch(const uint16_t* next, int64_t lines, int64_t each) {
    next_ = reinterpret_cast<const std::byte*>(next);
    lines_ = lines;
    each_ = each;
  }
  Between between() {
    return {[](void* self) { static_cast<Overlap*>(self)->step(); }, this};
  }

 private:
  static constexpr int64_t kRowsOfStep = 4, kLineBytes = 64;

  void step() {
    for (int64_t i = std::min(each_, lines_); i > 0; --i, --lines_, next_ += kLineBytes) {
      __builtin_prefetch(next_, /*rw=*/0, /*locality=*/2);
    }
    if (block_.rows > 0) hand_out(std::min(block_.rows, kRowsOfStep));
  }
  void hand_out(int64_t rows) {
    use_({block_.row, rows, block_.column, block_.columns}, sums_);
    block_.row += rows;
    block_.rows -= rows;
    sums_ += rows * block_.columns;
  }

  const SumsFunction& use_;
  Tile block_{};
  float* sums_ = nullptr;
  const std::byte* next_ = nullptr;
  int64_t lines_ = 0, each_ = 0;
};

}  // namespace

bool Bf16Products::reads_in_place(const Product& p, const Bf16Part* right) const {
  return right != nullptr && loops_.multiply_in_place != nullptr && p.a.dtype == DType::kBF16 &&
         !p.a.transposed && p.k > 0 && p.k % loops_.depth_multiple == 0 &&
         loops_.panel_rows * p.k <= static_cast<int64_t>(kRowsScratch);
}

// Makes a tile of C, or hands out its sums where there is a `use`. The last rows of a factor may be
// fewer than tiles read. These rows are packed.
void Bf16Products::multiply_in_place(const Product& p, const Block& block, const Tile& tile,
                                     int thread, const SumsFunction& use) {
  const int64_t height = loops_.panel_rows, blocks = pieces_of(tile.rows, height);
  const int64_t rest = tile.rows % height, lines = p.k * kPanelColumns * 2 / 64;
  const auto* const rows = reinterpret_cast<const uint16_t*>(p.a.data);
  float* room[2] = {sums(thread), sums(thread) + height * kPanelColumns};
  Overlap overlap(use);
  if (loops_.begin != nullptr) loops_.begin();
  if (rest > 0) {
    loops_.pack_rows(rows_of(p.a, tile.row + tile.rows - rest, rest, p.k, 0), row_panels(thread));
  }
  for (int64_t n = tile.column; n < tile.column + tile.columns; n += kPanelColumns) {
    const int64_t columns = std::min(kPanelColumns, tile.column + tile.columns - n);
    const bool is_last = n + kPanelColumns >= block.columns;
    overlap.prefetch(block.panel(n + kPanelColumns), is_last ? 0 : lines,
                     pieces_of(lines, blocks * p.k / loops_.depth_multiple));
    for (int64_t m = 0; m < tile.rows; m += height) {
      const int64_t row = tile.row + m, count = std::min(height, tile.rows - m);
      const Addend start = addend_at(p, /*is_first=*/true, row, n);
      float* const c = use ? room[0] : p.c + row * p.c_stride + n;
      const int64_t stride = use ? columns : p.c_stride;
      if (count == height) {
        loops_.multiply_in_place(rows + row * p.a.stride, p.a.stride, block.panel(n), p.k, columns,
                                 start, c, stride, overlap.between());
      } else {
        loops_.multiply(row_panels(thread), block.panel(n), p.k, count, columns, start, c, stride);
      }
      if (!use) continue;
      overlap.take({row, count, n, columns}, room[0]);
      std::swap(room[0], room[1]);
    }
  }
  overlap.finish();
  if (loops_.end_streaming != nullptr) loops_.end_streaming();
  if (loops_.end != nullptr) loops_.end();
}

Bf16Products::Bf16Products(ThreadPool& pool, const Bf16Loops& loops)
    : pool_(pool),
      loops_(loops),
      rows_(static_cast<size_t>(pool.size()) * kRowsScratch * sizeof(uint16_t)),
      columns_(static_cast<size_t>(pool.size()) * kColumnsScratch * sizeof(uint16_t)),
      sums_(static_cast<size_t>(pool.size()) * kMostSums * sizeof(float)) {
  assert(kWideTile.rows % loops.panel_rows == 0 && kTallTile.rows % loops.panel_rows == 0);
  assert(kFewRows % loops.panel_rows == 0);
  assert(kSlabDepth % loops.depth_multiple == 0);
}

size_t Bf16Products::scratch_bytes() const {
  return rows_.size_bytes() + columns_.size_bytes() + sums_.size_bytes();
}

Bf16Matrix Bf16Products::make_matrix(int64_t depth, int64_t columns) const {
  return {.depth = depth,
          .columns = columns,
          .panel_depth = loops_.padded(depth),
          .panels = Memory(matrix_bytes(depth, columns))};
}

size_t Bf16Products::matrix_bytes(int64_t depth, int64_t columns) const {
  return static_cast<size_t>(loops_.padded(depth) * pieces_of(columns, kPanelColumns) *
                             kPanelColumns) *
         sizeof(uint16_t);
}

Bf16Products::Packs Bf16Products::packs(WeightUse use) const {
  switch (use) {
    case WeightUse::kInference:
      return {.forward = true, .backward = false};
    case WeightUse::kTraining:
      return {.forward = loops_.wants_packed_weights, .backward = loops_.wants_packed_weights};
    case WeightUse::kTrainingOfFewTokens:
      break;
  }
  return {};
}

// The columns of one panel of `packed` are depths of every panel of `transposed`. Both are packed
// while the elements of that panel are in the cache.
void Bf16Products::pack(const Factor& right, Bf16Matrix& packed, Bf16Matrix* transposed) {
  assert(transposed == nullptr ||
         (transposed->depth == packed.columns && transposed->columns == packed.depth));
  const bool streams =
      loops_.stream_columns != nullptr && packed.panels.size_bytes() >= kStreamedBytes;
  const auto pack_panel = streams ? loops_.stream_columns : loops_.pack_columns;
  Factor flipped = right;
  flipped.transposed = !right.transposed;
  const int64_t count = pieces_of(packed.columns, kPanelColumns);
  pool_.parallel_for(count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t first = begin * kPanelColumns; first < end * kPanelColumns;
         first += kPanelColumns) {
      const int64_t lanes = std::min(kPanelColumns, packed.columns - first);
      // The panel as depths by columns, and its transpose as columns by depths.
      pack_panel(columns_of(right, first, lanes, packed.depth, 0), packed.panel(first));
      if (transposed == nullptr) continue;
      for (int64_t row = 0; row < packed.depth; row += kPanelColumns) {
        const int64_t width = std::min(kPanelColumns, packed.depth - row);
        pack_panel(columns_of(flipped, row, width, lanes, first),
                   transposed->panel(row) + first * kPanelColumns);
      }
    }
    if (streams) loops_.end_streaming();
  });
}

void Bf16Products::multiply(const Product& p, const Bf16Part* right, const TileFunction& after) {
  assert(p.scale == 1);
  assert(right == nullptr || (right->depth == p.k && right->columns == p.n));
  const auto multiply_block = [&](const Block& block) {
    const bool is_last = block.first + block.depth == p.k;
    for_each_small_tile(pool_, p.m, block.columns, block.depth, {loops_.panel_rows, kPanelColumns},
                        tile_for(block.columns), [&](Tile tile, int thread) {
                          tile.column += block.column;
                          if (p.k == 0) begin_sums(p, tile);
                          multiply_tile(loops_, p, block, tile, row_panels(thread));
                          if (is_last && after) after(tile);
                        });
  };
  if (reads_in_place(p, right)) {
    for_each_small_tile(pool_, p.m, p.n, p.k, {loops_.panel_rows, kPanelColumns}, tile_in_place(p),
                        [&](const Tile& tile, int thread) {
                          multiply_in_place(p, block_of(*right), tile, thread, {});
                          if (after) after(tile);
                        });
    return;
  }
  // The right factor is packed already: one block.
  if (right != nullptr) return multiply_block(block_of(*right));
  // Few rows: packed columns would be used too seldom, so each thread packs a panel when it needs
  // it.
  if (p.m <= kFewRows) {
    for_each_small_tile(pool_, p.m, p.n, p.k, {p.m, kPanelColumns}, {p.m, kColumnsOfFewRows},
                        [&](const Tile& tile, int thread) {
                          multiply_few_rows(p.part(tile), thread);
                          if (after) after(tile);
                        });
    return;
  }
  // Else all threads pack a block of columns, and then all multiply by it.
  for_each_block(loops_, p, kStripeColumns, column_panels(0),
                 columns_.size_bytes() / sizeof(uint16_t), [&](const Block& block) {
                   pack_block(pool_, loops_, p, block);
                   multiply_block(block);
                 });
}

void Bf16Products::multiply_alone(const Product& p, int thread) {
  assert(p.scale == 1);
  for (int64_t row = 0; row < p.m; row += kFewRows) {
    multiply_few_rows(p.part({row, std::min(kFewRows, p.m - row), 0, p.n}), thread);
  }
}

void Bf16Products::multiply_few_rows(const Product& p, int thread) {
  if (p.k == 0) return begin_sums(p, {0, p.m, 0, p.n});
  const int64_t height = loops_.panel_rows, slab = slab_depth(loops_, p.k);
  uint16_t* const rows = row_panels(thread);
  uint16_t* const panel = column_panels(thread);
  const auto columns_at = [&](int64_t column, int64_t first) {
    return columns_of(p.b, column, std::min(kPanelColumns, p.n - column),
                      std::min(slab, p.k - first), first);
  };
  if (loops_.begin != nullptr) loops_.begin();
  for (int64_t first = 0; first < p.k; first += slab) {
    const int64_t depth = std::min(slab, p.k - first), padded = loops_.padded(depth);
    loops_.pack_rows(rows_of(p.a, 0, p.m, depth, first), rows);
    for (int64_t column = 0; column < p.n; column += kPanelColumns) {
      const Lanes columns = columns_at(column, first);
      loops_.pack_columns(columns, panel);
      // Between two small products, some cache lines of the next panel are prefetched.
      Lanes following{};  // none after the last panel
      if (column + kPanelColumns < p.n) {
        following = columns_at(column + kPanelColumns, first);
      } else if (first + slab < p.k) {
        following = columns_at(0, first + slab);
      }
      Fetch next(following);
      const int64_t share = pieces_of(next.lines(), pieces_of(p.m, height));
      for (int64_t row = 0; row < p.m; row += height) {
        next.fetch(share);
        loops_.multiply(rows + row * padded, panel, padded, std::min(height, p.m - row),
                        columns.count, addend_at(p, first == 0, row, column),
                        p.c + row * p.c_stride + column, p.c_stride);
      }
    }
  }
  if (loops_.end != nullptr) loops_.end();
}

void Bf16Products::multiply_in_tiles(const Product& p, TileSize most, float* room, int thread,
                                     const SumsFunction& use) {
  assert(p.scale == 1 && p.k <= kDeepestInTiles && most.rows <= kTallTile.rows);
  const auto sum_block = [&](const Block& block) {
    pack_panels(loops_, p, block, 0, block.count());
    const int64_t end = block.column + block.columns;
    for (int64_t row = 0; row < p.m; row += most.rows) {
      for (int64_t column = block.column; column < end; column += most.columns) {
        const Tile tile{row, std::min(most.rows, p.m - row), column,
                        std::min(most.columns, end - column)};
        sum_tile(loops_, p, block, tile, row_panels(thread), room);
        use(tile, room);
      }
    }
  };
  for_each_block(loops_, p, kStripeColumns, column_panels(thread), kColumnsScratch, sum_block);
}

void Bf16Products::multiply_in_tiles(const Product& p, const Bf16Part* right,
                                     const SumsFunction& use) {
  assert(p.scale == 1 && !p.add && p.c == nullptr);
  const TileSize multiple{loops_.panel_rows, kPanelColumns};
  if (right != nullptr) {
    const Block block = block_of(*right);
    const bool in_place = reads_in_place(p, right);
    for_each_small_tile(pool_, p.m, p.n, p.k, multiple, in_place ? tile_in_place(p) : tile_for(p.n),
                        [&](const Tile& tile, int thread) {
                          if (in_place) return multiply_in_place(p, block, tile, thread, use);
                          sum_tile(loops_, p, block, tile, row_panels(thread), sums(thread));
                          use(tile, sums(thread));
                        });
    return;
  }
  // Few rows, as in multiply(). A left factor that is transposed has few rows only in small models.
  if (p.m <= kFewRows && !p.a.transposed) {
    for_each_small_tile(pool_, p.m, p.n, p.k, {p.m, kPanelColumns}, {p.m, kColumnsOfFewRows},
                        [&](const Tile& tile, int thread) {
                          Product part = p.part(tile);
                          part.c = sums(thread);
                          part.c_stride = tile.columns;
                          multiply_few_rows(part, thread);
                          use(tile, part.c);
                        });
    return;
  }
  // The columns of a stripe are packed with their whole depth, so that a tile's sums are complete.
  const int64_t slab = slab_depth(loops_, p.k), depth = pieces_of(p.k, slab) * slab;
  const size_t least_bytes = static_cast<size_t>(depth * kPanelColumns) * sizeof(uint16_t);
  if (columns_.size_bytes() < least_bytes) columns_ = Memory(least_bytes);
  const size_t room = columns_.size_bytes() / sizeof(uint16_t);
  const int64_t fit = static_cast<int64_t>(room) / std::max<int64_t>(1, depth);
  const int64_t stripe = std::min(kStripeColumns, fit / kPanelColumns * kPanelColumns);
  for_each_block(loops_, p, stripe, column_panels(0), room, [&](const Block& block) {
    pack_block(pool_, loops_, p, block);
    for_each_small_tile(pool_, p.m, block.columns, block.depth, multiple, tile_for(block.columns),
                        [&](Tile tile, int thread) {
                          tile.column += block.column;
                          sum_tile(loops_, p, block, tile, row_panels(thread), sums(thread));
                          use(tile, sums(thread));
                        });
  });
}

float* Bf16Products::sums(int thread) {
  return reinterpret_cast<float*>(sums_.data()) + thread * kMostSums;
}

uint16_t* Bf16Products::column_panels(int thread) {
  return reinterpret_cast<uint16_t*>(columns_.data()) +
         static_cast<size_t>(thread) * kColumnsScratch;
}

uint16_t* Bf16Products::row_panels(int thread) {
  return reinterpret_cast<uint16_t*>(rows_.data()) + static_cast<size_t>(thread) * kRowsScratch;
}

}  // namespace berth
