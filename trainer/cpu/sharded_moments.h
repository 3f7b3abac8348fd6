#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The moments of all ranks as rank 0 sees them, where the optimizer is sharded. So a checkpoint is
// written and read as if rank 0 had all moments, and never lies in one memory as a whole. Rank 0
// asks the owners for what is read, and sends them what is written, in messages. On every other
// rank a thread of this object answers. There, tensors only show what the rank owns: other elements
// are zeros when read, and ignored when written.
//
// Thread-safe, as ParameterTensors asks. Throws kPeerLost where an owner cannot be reached. Borrows
// all of its parts. The object of another rank than 0 must live until rank 0 reads no more.
class ShardedMoments {
 public:
  // All ranks make it together.
  ShardedMoments(Communicator& ranks, const OptimizerShards& shards, Parameters& parameters);

  ParameterTensors& first() { return first_; }
  ParameterTensors& second() { return second_; }
  // Whether anything was written to this rank's block since the last call.
  bool take_written() { return written_.exchange(false); }
  // To be held while the optimizer updates this rank's block.
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
  // What rank 0 asks an owner: to send, or to receive, what it owns of a range. The owner answers a
  // write with the same request when it is done.
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
