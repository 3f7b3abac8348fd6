#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/gradient_reducer.h"
#include "trainer/distributed/slow_rank.h"

namespace berth {

// Sums the gradients of an update over the ranks of a job, beside the backward pass. It hands the
// gradients of a layer to a GradientReducer as soon as the pass has left that layer. The gradients
// must all be summed ones. Borrows all of its parts. Not thread-safe.
class GradientExchange {
 public:
  GradientExchange(Communicator& ranks, const ReducerOptions& options, Parameters& parameters);

  // The gradients of parameters at `depth` and deeper are final. Depths of one update decrease.
  void are_final(int64_t depth);
  // All gradients are final. Returns when they and the sums of the state are those of all ranks.
  // Records the exchange where a profiler is on; null: there is none. Rank 0 says in the log which
  // rank the others wait for.
  void finish(StepState& state, Profiler* profiler);

  // Whether `is_so` on any rank. Not between are_final() and finish().
  bool any(bool is_so);

 private:
  void hand_over(size_t index);
  void notice_slow_rank(std::span<const double> seconds);

  Communicator& ranks_;
  Parameters& parameters_;
  std::vector<size_t> deepest_first_;  // the parameters that train, by depth
  size_t handed_over_ = 0;             // of them, in this update
  double began_s_;                     // when this rank began to compute the update
  SlowRank slow_;
  GradientReducer reducer_;
};

}  // namespace berth
