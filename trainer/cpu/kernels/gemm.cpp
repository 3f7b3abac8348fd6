#include "trainer/cpu/kernels/gemm.h"

#if __has_include(<openblas-serial/cblas.h>)  // Debian
#include <openblas-serial/cblas.h>
#elif __has_include(<openblas/cblas.h>)  // Fedora
#include <openblas/cblas.h>
#else
#include <cblas.h>
#endif

#include <algorithm>
#include <cassert>
#include <limits>

#include "trainer/cpu/kernels/blas_buffer.h"

namespace berth {
namespace {

// Tiles begin at whole vectors, and are about as large as the micro-kernels' blocks.
constexpr TileSize kMultiple{16, 16};

blasint narrow(int64_t size) {
  assert(size >= 0 && size <= std::numeric_limits<blasint>::max());
  return static_cast<blasint>(size);
}

}  // namespace

Product Product::part(const Tile& tile) const {
  Product part = *this;
  part.m = tile.rows;
  part.n = tile.columns;
  part.a.data = a.at(tile.row, 0);
  part.b.data = b.at(0, tile.column);
  if (c != nullptr) part.c = c + tile.row * c_stride + tile.column;
  if (bias != nullptr) part.bias = bias + tile.column;
  return part;
}

void begin_sums(const Product& p, const Tile& tile) {
  assert(!p.add || p.bias == nullptr);
  if (p.add) return;
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    float* const sums = p.c + row * p.c_stride + tile.column;
    if (p.bias != nullptr) {
      std::copy_n(p.bias + tile.column, tile.columns, sums);
    } else {
      std::fill_n(sums, tile.columns, 0.0f);
    }
  }
}

void multiply(const Product& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.bias != nullptr) begin_sums(p, {0, p.m, 0, p.n});
  prepare_blas_buffer();
  cblas_sgemm(CblasRowMajor, p.a.transposed ? CblasTrans : CblasNoTrans,
              p.b.transposed ? CblasTrans : CblasNoTrans, narrow(p.m), narrow(p.n), narrow(p.k),
              p.scale, p.a.data, narrow(p.a.stride), p.b.data, narrow(p.b.stride),
              p.add || p.bias != nullptr ? 1.0f : 0.0f, p.c, narrow(p.c_stride));
}

void multiply(ThreadPool& pool, const Product& product, const TileFunction& after) {
  for_each_tile(pool, product.m, product.n, product.k, kMultiple, [&](const Tile& tile, int) {
    multiply(product.part(tile));
    if (after) after(tile);
  });
}

void multiply_in_tiles(const Product& product, TileSize most, float* room,
                       const SumsFunction& use) {
  for (int64_t row = 0; row < product.m; row += most.rows) {
    for (int64_t column = 0; column < product.n; column += most.columns) {
      const Tile tile{row, std::min(most.rows, product.m - row), column,
                      std::min(most.columns, product.n - column)};
      Product part = product.part(tile);
      part.c = room;
      part.c_stride = tile.columns;
      multiply(part);
      use(tile, room);
    }
  }
}

}  // namespace berth
