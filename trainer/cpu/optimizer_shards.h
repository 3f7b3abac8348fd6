#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/distributed/gradient_sums.h"
#include "trainer/model/parameter_table.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// A range of trainable elements, which are counted from the first one in the order of the parameter
// table. The parameters that train stand end to end in that table.
struct ElementRange {
  int64_t begin = 0, count = 0;
};

// Which rank owns which elements where the optimizer is sharded: stage 1 of ZeRO (Rajbhandari et
// al. 2020, arXiv:1910.02054). The owner of an element holds its moments and updates its value. The
// partition follows from the parameter table and the number of ranks alone, so all ranks have the
// same.
//
// The parameters, the deepest first, are cut into buckets, and each bucket into one share for each
// rank. So a reduce-scatter of a bucket gives every rank what it owns. The
// rows of lookup tables are dealt to the ranks in turn, a few neighbours at a time. The reason: an
// update concerns some rows only, and frequent words often stand together.
//
// A rank holds the moments of its elements in one block for each of the two moments. The moments of
// tables are at the end of the block. This class is immutable, so it is thread-safe.
class OptimizerShards {
 public:
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

  // The elements of a rank's block. No rank has more than rank 0.
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

// The moments of all ranks as rank 0 sees them, where the optimizer is sharded. A checkpoint is
// written and read as if rank 0 had all moments, but this object copies 1 MiB at a time. To read
// elements, rank 0 asks their owners. To write elements, it sends them to their owners. On every
// other rank a thread of this object answers. There, a read returns zeros for elements of other
// ranks, and a write ignores them.
//
// Thread-safe, as ParameterTensors asks. Throws kPeerLost where an owner cannot be reached. Borrows
// the arguments of its constructor. The object of another rank than 0 must live until rank 0 reads
// and writes no more.
class ShardedMoments {
 public:
  // All ranks make it together.
  ShardedMoments(Communicator& ranks, const OptimizerShards& shards, Parameters& parameters);

  ParameterTensors& first() { return first_; }
  ParameterTensors& second() { return second_; }
  // Whether a restored checkpoint was written to this rank's block since the last call.
  bool take_written() { return written_.exchange(false); }
  // To be held while the optimizer updates this rank's block: the thread that answers rank 0 must
  // see either no part of an update or all of it.
  std::unique_lock<std::mutex> lock_block() { return std::unique_lock(block_mutex_); }

 private:
  // One of the two moments.
  class View final : public ParameterTensors {
   public:
    View(ShardedMoments& all, int64_t which) : all_(all), which_(which) {}
    std::span<const ParameterSpec> specs() const override { return all_.parameters_.specs(); }
    void read(size_t index, int64_t first, std::span<float> values) const override;
    void write(size_t index, int64_t first, Bytes values) override;

   private:
    ShardedMoments& all_;
    const int64_t which_;
  };
  // A message from rank 0 to an owner, which then sends or receives its elements of the range. The
  // owner answers a write with the same request when it is done.
  struct Request {
    int64_t writes = 0, which = 0;
    ElementRange range{};
  };

  ElementRange range_of(size_t index, int64_t first, size_t count) const;
  std::span<float> own(int64_t which, const OptimizerShards::Piece& piece) const;
  // Copies the elements of a rank's pieces end to end, or back.
  std::vector<float> read_own(int64_t which, std::span<const OptimizerShards::Piece> pieces);
  void write_own(int64_t which, std::span<const OptimizerShards::Piece> pieces,
                 std::span<const float> values);
  void read_all(int64_t which, ElementRange range, std::span<float> values);
  void write_all(int64_t which, ElementRange range, std::span<const float> values);
  std::vector<OptimizerShards::Piece> pieces_of(int64_t rank, ElementRange range) const;
  void serve(const std::stop_token& stop);

  Communicator& ranks_;
  const OptimizerShards& shards_;
  Parameters& parameters_;
  const uint64_t channel_;
  View first_, second_;
  std::mutex block_mutex_;    // guards this rank's block
  std::mutex channel_mutex_;  // held while rank 0 asks and is answered
  std::atomic<bool> written_ = false;
  std::jthread server_;  // of another rank than 0. Declared last: it uses the members above
};

}  // namespace berth
