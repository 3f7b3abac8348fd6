#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/cpu/sharded_gradients.h"
#include "trainer/distributed/gradient_reducer.h"
#include "trainer/distributed/slow_rank.h"

namespace berth {

// Sums the gradients of an update over the ranks of a job, beside the backward pass. It hands the
// gradients of a layer to a GradientReducer, or to ShardedGradients, as soon as the pass has left
// that layer. No gradient may have the form of factors. Borrows all of its parts. Not thread-safe.
class GradientExchange {
 public:
  // `shards` is null where every rank keeps the whole optimizer, and so needs all sums.
  GradientExchange(Communicator& ranks, DType wire_dtype, Parameters& parameters,
                   const OptimizerShards* shards = nullptr);

  // Begins an update: adds the other ranks' `weights` to this rank's. Returns false if one of the
  // ranks stops, so that none computes the update. All ranks have the same number of weights.
  bool begin_update(bool stops, std::span<double> weights);
  // The gradients of parameters at `depth` and deeper are final. Depths of one update decrease.
  void are_final(int64_t depth);
  // All gradients are final. Returns when the gradients, or only the ones that this rank owns, are
  // the sums over all ranks. Records the exchange where a profiler is on; null: there is none.
  void finish(Profiler* profiler);
  // After that: replaces the state's sums by the sums over all ranks, in the order of the ranks. If
  // the optimizer is sharded, the squares are among them. Rank 0 logs the rank for which the others
  // wait.
  void sum(StepState& state);
  // After the update: fetches the values that other ranks have updated, if there are shards.
  void gather_values();

 private:
  void hand_over(size_t index);
  void notice_slow_rank(std::span<const double> seconds);

  Communicator& ranks_;
  Parameters& parameters_;
  std::vector<size_t> deepest_first_;  // the parameters that train, by depth
  size_t handed_over_ = 0;             // of them, in this update
  double began_s_;                     // when this rank began to compute the update
  double computed_s_ = 0;              // how long it computed
  SlowRank slow_;
  // One of the two.
  std::optional<GradientReducer> reducer_;
  std::optional<ShardedGradients> sharded_;
};

}  // namespace berth
