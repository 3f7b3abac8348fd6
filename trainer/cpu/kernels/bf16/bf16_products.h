#pragma once

#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/bf16/bf16_loops.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// What a weight is used for: how often it changes, and how many tokens are multiplied by it between
// two changes. It decides whether packed copies are stored, or each product packs the weight again.
enum class WeightUse { kInference, kTraining, kTrainingOfFewTokens };

// Some depths and columns of a packed right factor. Borrows its panels.
struct Bf16Part {
  int64_t depth, columns;
  int64_t panel_depth;  // of the whole factor
  uint16_t* panels;
};

// The right factor [depth, columns] of products, packed into panels of all its columns.
struct Bf16Matrix {
  int64_t depth, columns;
  int64_t panel_depth;
  Memory panels;

  uint16_t* panel(int64_t column) const;  // the panel that begins with this column
  Bf16Part whole() const { return columns_from(0, columns); }
  // Columns [first, first + count), or as many depths of all columns. `first` is a multiple of 32,
  // and so is `count` unless the part is the last one.
  Bf16Part columns_from(int64_t first, int64_t count) const;
  Bf16Part depths_from(int64_t first, int64_t count) const;
};

// The largest depth of the products that multiply_in_tiles() makes on the calling thread.
inline constexpr int64_t kDeepestInTiles = 1280;

// Products whose factors are rounded to bf16 and whose sums are fp32, on the threads of a pool.
// They are blocked as by Goto and van de Geijn 2008 (ACM TOMS 34, 3): a product takes one slab of
// depth after the other. The rows of a slab and their sums stay in the second-level cache, while
// the panels of columns go through the first-level cache. Where there are few rows, each panel of
// columns is packed right before it is used.
//
// Tiles take another way if the left factor is bf16 and the right one is packed. They read the rows
// where they lie and sum the whole depth in registers. The sums of a block leave while the next
// block multiplies.
//
// Results do not depend on the number of threads. Not thread-safe: one caller at a time. Borrows
// the pool.
class Bf16Products {
 public:
  struct Block;
  Bf16Products(ThreadPool& pool, const Bf16Loops& loops);

  const Bf16Loops& loops() const { return loops_; }
  size_t scratch_bytes() const;

  // The products of a weight for which a packed copy is stored.
  struct Packs {
    bool forward, backward;
  };
  Packs packs(WeightUse use) const;

  // Memory for a packed right factor, and its size.
  Bf16Matrix make_matrix(int64_t depth, int64_t columns) const;
  size_t matrix_bytes(int64_t depth, int64_t columns) const;
  // Packs the factor and, where `transposed` is not null, its transpose. Reads the factor once.
  void pack(const Factor& right, Bf16Matrix& packed, Bf16Matrix* transposed);

  // As multiply() in gemm.h, with scale 1. Where `right` is given, it is the packed right factor,
  // and product.b is not read.
  void multiply(const Product& product, const Bf16Part* right, const TileFunction& after = {});
  // Makes a small product on the calling thread, which is number `thread` of the pool. Its factors
  // are packed for this product only. Every thread of the pool may make a call of its own at once.
  void multiply_alone(const Product& product, int thread);

  // As multiply_in_tiles() in gemm.h, for a depth of at most kDeepestInTiles, on the calling thread
  // as above.
  void multiply_in_tiles(const Product& product, TileSize most, float* room, int thread,
                         const SumsFunction& use);
  // The same on the threads of the pool and for any depth, with `right` as in multiply(). Without
  // it, a depth of tens of thousands slows it.
  void multiply_in_tiles(const Product& product, const Bf16Part* right, const SumsFunction& use);

 private:
  bool reads_in_place(const Product& product, const Bf16Part* right) const;
  void multiply_in_place(const Product& product, const Block& block, const Tile& tile, int thread,
                         const SumsFunction& use);
  void multiply_few_rows(const Product& product, int thread);  // for at most kFewRows rows
  uint16_t* row_panels(int thread);
  uint16_t* column_panels(int thread);
  float* sums(int thread);

  ThreadPool& pool_;
  const Bf16Loops& loops_;
  // Scratch of the threads, a part for each. All parts begin at cache lines: vectors that lie
  // across two lines would slow the loops.
  Memory rows_, columns_;  // panels, bf16
  Memory sums_;            // of a tile, fp32, where a product has no C
};

}  // namespace berth
