#pragma once

#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/bf16/bf16_loops.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/kernels/weight_use.h"

namespace berth {

// The right factor of products, [depth, columns], as panels of all its columns.
struct Bf16Matrix {
  int64_t depth, columns;
  int64_t panel_depth;
  Memory panels;

  uint16_t* panel(int64_t column) const;  // the one that begins with it
};

// The deepest product that is had in tiles.
inline constexpr int64_t kDeepestInTiles = 1280;

// Products whose factors are rounded to bf16 and whose sums are fp32, on a pool's threads. Blocked
// as Goto and van de Geijn 2008 do (ACM TOMS 34, 3): a slab of depth at a time, whose rows, and
// what they add up to, stay in the second cache while the columns' panels go through the first.
// Columns that meet few rows are packed a panel at a time, where they are used.
// Results do not depend on the number of threads. Not thread-safe: one caller.
class Bf16Products {
 public:
  Bf16Products(ThreadPool& pool, const Bf16Loops& loops);

  const Bf16Loops& loops() const { return loops_; }
  size_t scratch_bytes() const;

  // Which products of a weight find it packed.
  struct Packs {
    bool forward, backward;
  };
  Packs packs(WeightUse use) const;

  // Room for a right factor, and how much that takes.
  Bf16Matrix make_matrix(int64_t depth, int64_t columns) const;
  size_t matrix_bytes(int64_t depth, int64_t columns) const;
  // The factor and, where it is not null, its transpose: it is read once.
  void pack(const Factor& right, Bf16Matrix& packed, Bf16Matrix* transposed);

  // As multiply() of gemm.h, with scale 1. `right`, where it is not null, holds what product.b
  // would: that is then not read.
  void multiply(const Product& product, const Bf16Matrix* right, const TileFunction& after = {});
  // A small one, of factors that are packed for it alone, on the calling thread: `thread` of the
  // pool's, each of which may be in a call of its own.
  void multiply_alone(const Product& product, int thread);

  // As multiply_in_tiles() of gemm.h, of a product whose depth is kDeepestInTiles at most, on the
  // calling thread as above.
  void multiply_in_tiles(const Product& product, TileSize most, float* room, int thread,
                         const SumsFunction& use);
  // The same on the pool, of any depth; what takes tens of thousands slows it.
  void multiply_in_tiles(const Product& product, const SumsFunction& use);

 private:
  void multiply_few_rows(const Product& product, int thread);  // of kFewRows at most
  uint16_t* row_panels(int thread);
  uint16_t* column_panels(int thread);

  ThreadPool& pool_;
  const Bf16Loops& loops_;
  std::vector<uint16_t> rows_,
      columns_;              // panels, a part for each thread; those on the pool share columns_
  std::vector<float> sums_;  // a tile's for each thread
};

}  // namespace berth
