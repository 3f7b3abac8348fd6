#pragma once

#include <cstdint>
#include <string>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/tile_grid.h"

namespace berth {

// A row-major fp32 factor of a product: its rows are `stride` apart; transposed: the product takes
// it with rows and columns exchanged.
struct Factor {
  const float* data;
  int64_t stride;
  bool transposed = false;

  // Element (row, column) as the product takes it.
  const float* at(int64_t row, int64_t column) const {
    return transposed ? data + column * stride + row : data + row * stride + column;
  }
};

// C [m,n] = scale * A [m,k] B [k,n], or that added to what C holds, or to one row for all.
struct Product {
  int64_t m, n, k;
  Factor a, b;
  float* c;
  int64_t c_stride;
  float scale = 1;
  bool add = false;             // to what C holds
  const float* bias = nullptr;  // [n], which C's rows begin with instead; null: none

  Product part(const Tile& tile) const;
};

// Writes to a tile of C what its sums begin with, zeros or the bias, unless C holds that.
void begin_sums(const Product& product, const Tile& tile);

// On the calling thread; several threads may call it at once.
void multiply(const Product& product);

// On the pool's threads, one fixed tile of C each; `after` (may be empty) follows each tile on its
// thread.
void multiply(ThreadPool& pool, const Product& product, const TileFunction& after = {});

// A tile's sums, rows of tile.columns, which it may change.
using SumsFunction = std::function<void(const Tile& tile, float* sums)>;

// On the calling thread in tiles of at most `most`, where C's elements are needed once: a tile's
// sums lie in `room` (most.rows * most.columns) until `use` has returned, and go nowhere else.
// product.c is null.
void multiply_in_tiles(const Product& product, TileSize most, float* room, const SumsFunction& use);

// The kernels that OpenBLAS picked for this CPU: "Zen", "SkylakeX".
std::string blas_core();

}  // namespace berth
