#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/dtype.h"
#include "storage/base/profiler.h"
#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/distributed/gradient_sums.h"

namespace berth {

// What the ranks of a job send each other to make the same update: gradients, beside the backward
// pass; sums such as the loss; and, where the optimizer is sharded, the values that their owners
// have updated. A GradientReducer gets the gradients of a layer as soon as the pass has left that
// layer. With shards it gets rows of embeddings after the pass. No gradient may have the form of
// factors. Gradients must stay where they are until finish() returns.
//
// Without shards every rank gets the sums of all gradients. With shards it gets the sums of its own
// elements, and zeros in place of the others. Ranks send only those rows of a table that have a
// gradient, and the values of only those rows that have a gradient or moments.
//
// Borrows the arguments of its constructor. Between the first are_final() and the end of finish(),
// nobody else may use the communicator, except for messages on other channels. Not thread-safe.
class GradientExchange {
 public:
  // `shards` is null where every rank keeps the whole optimizer, and so needs all sums.
  GradientExchange(Communicator& ranks, DType wire_dtype, Parameters& parameters,
                   const OptimizerShards* shards = nullptr);

  // Begins an update. Adds the other ranks' `weights`, sums of the examples' weights in the loss,
  // to this rank's; all ranks give equally many. Returns false if one of the ranks stops: then no
  // rank computes the update.
  bool begin_update(bool stops, std::span<double> weights);
  // Called when the gradients of parameters at `depth` and deeper are final. Depths of one update
  // decrease.
  void are_final(int64_t depth);
  // Called when all gradients are final. Returns when they are reduced. The marks of tables are
  // united, and with shards then cleared in rows that other ranks own. Adds the exchange to the
  // profiler, which may be null.
  void finish(Profiler* profiler);
  // After that: replaces the state's sums by the sums over all ranks, in the order of the ranks. If
  // the optimizer is sharded, the squares are among them. Otherwise all ranks take rank 0's
  // squares. Rank 0 logs the rank for which the others wait.
  void sum(StepState& state);
  // After the update: fetches the values that other ranks have updated, if there are shards.
  void fetch_values();

 private:
  // A parameter, or a bucket of the shards. Its elements are handed over at once.
  struct Part {
    int64_t depth = 0;
    size_t index = 0;
  };
  using Row = std::pair<const OptimizerShards::Table*, int64_t>;
  using Rows = std::vector<std::vector<Row>>;  // by the rank that owns them

  void hand_over(size_t index);
  void hand_over_rows();
  Shares shares_of(const OptimizerShards::Bucket& bucket, const Tensor& block) const;
  // Calls fn(shares) with the elements of the rows, in parts of about a bucket's size.
  void for_each_part(const Rows& rows, const Tensor& block,
                     const std::function<void(const Shares&)>& fn) const;
  void notice_slow_rank(std::span<const double> seconds);

  Communicator& ranks_;
  Parameters& parameters_;
  const OptimizerShards* const shards_;
  GradientReducer reducer_;
  std::vector<Part> deepest_first_;  // all parts, except the shards' tables
  size_t handed_over_ = 0;           // of them, in this update
  // With shards: the rows with a gradient or moments, from finish() to the next one. Their owners
  // update them. Every rank applies weight decay to all other rows itself.
  Rows changed_rows_;
  double began_s_;         // when this rank began to compute the update
  double computed_s_ = 0;  // how long it computed
  SlowRank slow_;
};

}  // namespace berth
