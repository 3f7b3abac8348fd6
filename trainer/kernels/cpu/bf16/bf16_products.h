#pragma once

#include <memory>
#include <vector>

#include "trainer/kernels/cpu/bf16/bf16_loops.h"
#include "trainer/kernels/cpu/gemm.h"
#include "trainer/kernels/tensor.h"
#include "trainer/kernels/thread_pool.h"

namespace berth {

// The right factor of products, [depth, columns], as panels of all its columns.
struct Bf16Matrix {
  int64_t depth, columns;
  int64_t panel_depth;
  std::unique_ptr<Memory> panels;

  uint16_t* panel(int64_t column) const;  // the one that begins with it
};

// Products whose factors are rounded to bf16 and whose sums are fp32, on a pool's threads. Blocked
// as Goto and van de Geijn 2008 do (ACM TOMS 34, 3): a slab of depth at a time, whose rows, and
// what they add up to, stay in the second cache while the columns' panels go through the first.
// Results do not depend on the number of threads. Not thread-safe: one caller.
class Bf16Products {
 public:
  Bf16Products(ThreadPool& pool, const Bf16Loops& loops);

  const Bf16Loops& loops() const { return loops_; }
  size_t scratch_bytes() const;

  // Room for a right factor, and how much that takes.
  Bf16Matrix make_matrix(int64_t depth, int64_t columns) const;
  size_t matrix_bytes(int64_t depth, int64_t columns) const;
  void pack(const Factor& right, Bf16Matrix& packed);

  // As multiply() of gemm.h, with scale 1. `right`, where it is not null, holds what product.b
  // would: that is then not read.
  void multiply(const Product& product, const Bf16Matrix* right, const TileFunction& before,
                const TileFunction& after);

 private:
  struct Scratch {
    std::vector<uint16_t> rows, columns;
  };
  void multiply_tile(const Product& tile, const uint16_t* right, int64_t right_depth,
                     Scratch& scratch) const;

  ThreadPool& pool_;
  const Bf16Loops& loops_;
  std::vector<Scratch> scratch_;  // one a thread
};

}  // namespace berth
