#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trainer/kernels/thread_pool.h"

namespace berth {

// A row-major fp32 factor of a product: its rows are `stride` apart; transposed: the product takes
// it with rows and columns exchanged.
struct Factor {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// C [m,n] = scale * A [m,k] B [k,n], or that added to what C holds.
struct Product {
  int64_t m, n, k;
  Factor a, b;
  float* c;
  int64_t c_stride;
  float scale = 1;
  bool add = false;
};

// Rows [row, row + rows) and columns [column, column + columns) of C.
struct Tile {
  int64_t row, rows, column, columns;
};
using TileFunction = std::function<void(const Tile&)>;

// On the calling thread; several threads may call it at once.
void multiply(const Product& product);

// On the pool's threads, one fixed tile of C each; `before` and `after` (may be empty) run around
// each tile on its thread.
void multiply(ThreadPool& pool, const Product& product, const TileFunction& before = {},
              const TileFunction& after = {});

// The kernels that OpenBLAS picked for this CPU: "Zen", "SkylakeX".
std::string blas_core();

}  // namespace berth
