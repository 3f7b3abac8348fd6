#pragma once

#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/int8/int8_loops.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// The right factor [depth, columns] of products, in int8 and packed into panels of its columns.
struct Int8Matrix {
  int64_t depth = 0, columns = 0;
  Memory panels;                // int8
  std::vector<float> scales{};  // of all panels' columns
  std::vector<int32_t> beginning{};
};

// Products whose factors are rounded to int8, on the threads of a pool: the columns of the right
// one when it is packed, the rows of the left one in each product. Results do not depend on the
// number of threads. Not thread-safe: one caller at a time. Borrows the pool.
class Int8Products {
 public:
  Int8Products(ThreadPool& pool, const Int8Loops& loops) : pool_(pool), loops_(loops) {}

  const Int8Loops& loops() const { return loops_; }
  // The bytes of scratch that products of this depth take.
  size_t scratch_bytes(int64_t depth) const;

  // Packs w^T for w [columns, depth]. A column that holds a number which is not finite makes
  // results that are not finite.
  Int8Matrix pack(ConstTensor w);
  size_t matrix_bytes(int64_t depth, int64_t columns) const;

  // C [m,n] = A [m,k] * right + bias. Takes the product's m, a, c, c_stride and bias; a is not
  // transposed. `after`, which may be empty, is called for each tile on its thread. Where c is
  // null, `use` gets the sums of each tile instead.
  void multiply(const Int8Matrix& right, const Product& product, const SumsFunction& use = {},
                const TileFunction& after = {});

 private:
  // The numbers of the rows of a tile, and their scales.
  struct Rows {
    int64_t first = -1;  // of the product; -1: none
    std::vector<std::byte> numbers{};
    std::vector<float> scales{};
    std::vector<float> sums{};  // of a tile, where there is no C
  };
  void quantize(const Product& product, const Tile& tile, Rows& rows) const;
  // `c` points to the tile's first sum.
  void multiply_tile(const Int8Matrix& right, const Product& product, const Tile& tile,
                     const Rows& rows, float* c, int64_t c_stride) const;
  int64_t row_stride(int64_t depth) const;
  int64_t tile_rows() const;

  ThreadPool& pool_;
  const Int8Loops& loops_;
  std::vector<Rows> rows_{};  // of each thread
};

}  // namespace berth
