#pragma once

#include <cstdint>
#include <functional>

#include "storage/base/thread_pool.h"

namespace berth {

// Rows [row, row + rows) and columns [column, column + columns) of a product's result.
struct Tile {
  int64_t row, rows, column, columns;
};
using TileFunction = std::function<void(const Tile&)>;

struct TileSize {
  int64_t rows, columns;
};

// Cuts C [m,n], whose elements are sums of k products, into fixed tiles, one for each thread that
// is worth waking. Calls fn(tile, thread) on these threads, with denormals flushed. Tiles begin at
// multiples of `multiple`.
void for_each_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                   const std::function<void(const Tile& tile, int thread)>& fn);

// The same with tiles of nearly the same size, at most `most` (a multiple of `multiple`), of which
// a thread may get several. Results must not depend on where C is cut.
void for_each_small_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                         TileSize most,
                         const std::function<void(const Tile& tile, int thread)>& fn);

}  // namespace berth
