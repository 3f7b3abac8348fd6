#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "storage/base/background.h"
#include "storage/base/profiler.h"
#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/share_exchange.h"

namespace berth {

// What travels in an update where the optimizer is sharded: gradients to the ranks that own their
// elements, and afterwards the values that the owners have updated. Each bucket of gradients is
// reduced on a thread of this object as soon as it is final. For a table, only rows with a gradient
// travel, and only the values of rows with a gradient or moments.
//
// Not thread-safe. Borrows all of its parts, and nobody else may use the communicator between the
// first are_final() and the end of finish().
class ShardedGradients {
 public:
  ShardedGradients(Communicator& ranks, DType wire_dtype, const OptimizerShards& shards,
                   Parameters& parameters);

  // The gradients of parameters at `depth` and deeper are final. Depths of one update decrease.
  void are_final(int64_t depth);
  // All gradients are final. Returns when this rank's gradients are sums over all ranks, and all
  // others are zeros. The marks of tables are united, and then cleared in rows that other ranks
  // own.
  void finish();
  // Fetches what the other ranks own of the values, after all ranks have updated what they own.
  void gather_values();
  // As GradientReducer::take_spans().
  std::vector<ProfileSpan> take_spans() { return std::exchange(spans_, {}); }

 private:
  using Row = std::pair<const OptimizerShards::Table*, int64_t>;
  using Rows = std::vector<std::vector<Row>>;  // by the rank that owns them

  Shares shares_of(const OptimizerShards::Bucket& bucket, const Tensor& block) const;
  void scatter(const Shares& shares);
  // Calls `exchange` with shares of the rows, in parts of at most a bucket's size.
  void for_each_part(const Rows& rows, const Tensor& block,
                     const std::function<void(const Shares&)>& exchange) const;

  Communicator& ranks_;
  const OptimizerShards& shards_;
  Parameters& parameters_;
  ShareExchange exchange_;
  size_t handed_over_ = 0;  // buckets of this update
  Rows changed_rows_;       // rows that the owners update by more than weight decay
  std::vector<ProfileSpan> spans_;
  Background background_;  // declared last: it uses the members above
};

}  // namespace berth
