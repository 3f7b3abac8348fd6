#pragma once

#include <cstdint>
#include <string>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/tile_grid.h"

namespace berth {

// A row-major fp32 factor of a product, with rows `stride` apart. Where it is transposed, the
// product takes it with rows and columns exchanged.
struct Factor {
  const float* data;
  int64_t stride;
  bool transposed = false;

  // Element (row, column) as the product takes it; null where the factor is packed elsewhere.
  const float* at(int64_t row, int64_t column) const {
    if (data == nullptr) return nullptr;
    return transposed ? data + column * stride + row : data + row * stride + column;
  }
};

// C [m,n] = scale * A [m,k] B [k,n] + what `add` and `bias` say.
struct Product {
  int64_t m, n, k;
  Factor a, b;
  float* c;
  int64_t c_stride;
  float scale = 1;
  bool add = false;             // adds the product to what C holds
  const float* bias = nullptr;  // [n], added to every row of C; null: nothing is

  Product part(const Tile& tile) const;
};

// Writes the start values of a tile's sums to C: zeros or the bias. Does nothing where `add` is
// set.
void begin_sums(const Product& product, const Tile& tile);

// Makes the product on the calling thread. Several threads may call it at once.
void multiply(const Product& product);

// Makes the product on the threads of the pool, one fixed tile of C for each. `after`, which may be
// empty, is called for each tile on its thread.
void multiply(ThreadPool& pool, const Product& product, const TileFunction& after = {});

// Takes the sums of a tile, in rows of tile.columns, and may change them.
using SumsFunction = std::function<void(const Tile& tile, float* sums)>;

// Makes the product on the calling thread in tiles of at most `most`, for a C whose elements are
// needed only once. The sums of a tile lie in `room`, of most.rows * most.columns elements, until
// `use` has returned, and are stored nowhere else. product.c is null.
void multiply_in_tiles(const Product& product, TileSize most, float* room, const SumsFunction& use);

// The name of the kernels that OpenBLAS chose for this CPU, such as "Zen" or "SkylakeX".
std::string blas_core();

}  // namespace berth
