#include "trainer/kernels/cpu/gemm.h"

#include <openblas-serial/cblas.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "trainer/kernels/cpu/blas_buffer.h"
#include "trainer/kernels/cpu/flush_denormals.h"

namespace berth {
namespace {

// Edges of tiles fall on multiples of this: whole vectors, and close to the micro-kernels' size.
constexpr int64_t kTileMultiple = 16;
// Multiplications and additions worth waking a thread for: some 10 us of one core.
constexpr double kWorkPerThread = 5e5;

struct Grid {
  int64_t rows = 1, columns = 1;
};

int64_t tiles_of(int64_t size) { return (size + kTileMultiple - 1) / kTileMultiple; }

// How to cut C into at most `threads` tiles: the smallest largest tile, and among equals the one
// with the shortest edges, since every tile packs its rows of A and its columns of B.
Grid choose_grid(int64_t m, int64_t n, int64_t threads) {
  Grid best;
  double best_work = std::numeric_limits<double>::max(), best_edges = best_work;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const Grid grid{std::min(rows, tiles_of(m)), std::min(threads / rows, tiles_of(n))};
    const double height = static_cast<double>((tiles_of(m) + grid.rows - 1) / grid.rows);
    const double width = static_cast<double>((tiles_of(n) + grid.columns - 1) / grid.columns);
    if (height * width < best_work ||
        (height * width == best_work && height + width < best_edges)) {
      best = grid;
      best_work = height * width;
      best_edges = height + width;
    }
  }
  return best;
}

// Where part i of `parts` of [0, size) begins.
int64_t cut(int64_t size, int64_t parts, int64_t i) {
  return std::min(size, tiles_of(size) * i / parts * kTileMultiple);
}

// Element (row, column) of the factor as the product takes it.
const float* at(const Factor& factor, int64_t row, int64_t column) {
  return factor.transposed ? factor.data + column * factor.stride + row
                           : factor.data + row * factor.stride + column;
}

blasint narrow(int64_t size) {
  assert(size >= 0 && size <= std::numeric_limits<blasint>::max());
  return static_cast<blasint>(size);
}

}  // namespace

void multiply(const Product& p) {
  if (p.m == 0 || p.n == 0) return;
  prepare_blas_buffer();
  cblas_sgemm(CblasRowMajor, p.a.transposed ? CblasTrans : CblasNoTrans,
              p.b.transposed ? CblasTrans : CblasNoTrans, narrow(p.m), narrow(p.n), narrow(p.k),
              p.scale, p.a.data, narrow(p.a.stride), p.b.data, narrow(p.b.stride),
              p.add ? 1.0f : 0.0f, p.c, narrow(p.c_stride));
}

void multiply(ThreadPool& pool, const Product& product, const TileFunction& before,
              const TileFunction& after) {
  if (product.m == 0 || product.n == 0) return;
  const double work = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                      static_cast<double>(product.k);
  const auto threads = static_cast<int64_t>(
      std::clamp(work / kWorkPerThread, 1.0, static_cast<double>(pool.size())));
  const Grid grid = choose_grid(product.m, product.n, threads);
  pool.parallel_for(grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end, int) {
    const FlushDenormals flush;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = i / grid.columns, c = i % grid.columns;
      Tile tile;
      tile.row = cut(product.m, grid.rows, r);
      tile.rows = cut(product.m, grid.rows, r + 1) - tile.row;
      tile.column = cut(product.n, grid.columns, c);
      tile.columns = cut(product.n, grid.columns, c + 1) - tile.column;
      Product part = product;
      part.m = tile.rows;
      part.n = tile.columns;
      part.a.data = at(product.a, tile.row, 0);
      part.b.data = at(product.b, 0, tile.column);
      part.c = product.c + tile.row * product.c_stride + tile.column;
      if (before) before(tile);
      multiply(part);
      if (after) after(tile);
    }
  });
}

std::string blas_core() { return openblas_get_corename(); }

}  // namespace berth
