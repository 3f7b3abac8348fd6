#pragma once

#include <cstdint>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/update.h"

namespace berth {

// AdamW or LAMB over the parameters that train, with clipping by their global norm. The moments are
// the parameters' own. LAMB stores its step in the gradient's place, so it needs all gradients
// summed. Borrows its parts. Not thread-safe.
//
// Where ranks share the optimizer, each updates what it owns. Its gradients of that are summed, and
// all others are zeros (GradientReducer::add_shares()). The values of other ranks are to be fetched
// afterwards.
class Optimizer {
 public:
  // The parameters must have gradients. `shards` and `ranks` are null where this optimizer updates
  // everything. Throws kInternal where LAMB meets gradients that are kept as products.
  Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels,
            const OptimizerShards* shards = nullptr, Communicator* ranks = nullptr);

  // Makes one update from the gradients of the state's examples. Summed gradients are zeros then,
  // and products are used up. Where the loss or the gradient is not finite, parameters and moments
  // stay as they are. Throws kInternal where backward has not made a gradient that is kept as a
  // product.
  void step(StepState& state) {
    add_squares(state);
    update(state);
  }
  // The two halves of step(). The first one adds to the state the squares of the gradients that
  // this rank owns. The second one needs the sums over all ranks.
  void add_squares(StepState& state);
  void update(StepState& state);

 private:
  void expect_sparse_moments() const;
  // Appends the ranges of gradients that are kept as products.
  void add_products(std::vector<UpdateRange>& ranges) const;
  void update_lamb_shares(const StepState& state);

  OptimizerOptions options_;
  Parameters& parameters_;
  Kernels& kernels_;
  const OptimizerShards* shards_;
  Communicator* ranks_;
  // One for each parameter that trains, or for each piece that this rank owns.
  std::vector<UpdateRange> all_;
  std::vector<UpdateRange> ranges_;  // of summed gradients, neighbours joined
  // Rows of tables that other ranks own. They only decay here, and have neither marks nor moments.
  std::vector<UpdateRange> rows_of_others_;
  std::vector<Gradient> summed_gradients_;  // the same gradients, with more neighbours joined
  int64_t product_elements_ = 0;            // of all gradients that are kept as products
};

}  // namespace berth
