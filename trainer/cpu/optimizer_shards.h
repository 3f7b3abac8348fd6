#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/model/parameter_table.h"

namespace berth {

// Elements of what trains, counted from the first of them in the order of the table.
struct ElementRange {
  int64_t begin = 0, count = 0;
};

// Which rank owns which elements where the optimizer is sharded: stage 1 of ZeRO (Rajbhandari et
// al. 2020, arXiv:1910.02054). The owner of an element holds its moments and updates its value. The
// partition follows from the table and the number of ranks alone, so all ranks have the same.
//
// The parameters are laid end to end, the deepest first, and cut into buckets, each of which is cut
// into one share for each rank. So a reduce-scatter of a bucket gives every rank what it owns. The
// rows of lookup tables are dealt to the ranks in turn, a few neighbours at a time. The reason: an
// update concerns some rows only, and frequent words often stand together.
//
// A rank holds the moments of its elements in one block for each moment. The moments of tables are
// at the end of the block. Immutable, so thread-safe.
class OptimizerShards {
 public:
  static constexpr int64_t kBucketElements = int64_t{4} << 20;

  // Some parameters must train. Smaller buckets are for tests.
  OptimizerShards(std::span<const ParameterSpec> specs, int64_t ranks,
                  int64_t bucket_elements = kBucketElements);

  // The elements that are reduced at once. Their gradient is final when the gradients of the
  // parameters at `depth` are.
  struct Bucket {
    int64_t depth = 0;
    std::vector<std::vector<ElementRange>> shares{};  // by rank
  };
  // The buckets of all parameters except tables, in the order in which backward makes their
  // gradients.
  std::span<const Bucket> buckets() const { return buckets_; }

  struct Table {
    size_t parameter = 0;  // its index in the parameter table
    int64_t begin = 0;     // its first element
    int64_t rows = 0, columns = 0;
  };
  std::span<const Table> tables() const { return tables_; }
  int64_t owner_of_row(int64_t row) const { return row / kRowsTogether % ranks_; }

  // Elements that one rank owns and that lie end to end in a parameter and in its block.
  struct Piece {
    int64_t begin = 0, count = 0;
    size_t parameter = 0;
    int64_t rank = 0;
    int64_t at = 0;  // where it lies in the rank's block, in elements
  };
  // All elements, in order.
  std::span<const Piece> pieces() const { return pieces_; }
  // The pieces that hold elements of a range, cut to it, in order.
  std::vector<Piece> pieces(ElementRange range) const;

  // The elements of a rank's block. Rank 0 has as many as any other.
  int64_t elements(int64_t rank) const { return elements_[static_cast<size_t>(rank)]; }
  // Where the tables begin in the block.
  int64_t table_begin(int64_t rank) const { return table_begin_[static_cast<size_t>(rank)]; }
  int64_t ranks() const { return ranks_; }

 private:
  static constexpr int64_t kRowsTogether = 16;

  // A part of a parameter that lies in one bucket.
  struct Part {
    size_t parameter = 0;
    ElementRange range{};
  };
  void add_bucket(std::span<const Part> parts, int64_t depth);
  void add_table(const Table& table);

  int64_t ranks_;
  std::vector<Bucket> buckets_;
  std::vector<Table> tables_;
  std::vector<Piece> pieces_;
  std::vector<int64_t> elements_, table_begin_;  // by rank
};

}  // namespace berth
