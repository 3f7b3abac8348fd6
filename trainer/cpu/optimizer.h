#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/optimizer_options.h"

namespace berth {

// AdamW or LAMB over the parameters that train, with clipping by their global norm. The moments are
// the parameters' own. LAMB stores its step in the gradient's place, so it needs all gradients
// summed. Borrows parameters and kernels. Not thread-safe.
class Optimizer {
 public:
  // The parameters must have gradients. Throws kInternal where LAMB meets gradients that are kept
  // as products.
  Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels);

  // Makes one update from the gradients of the state's examples. Summed gradients are zeros then,
  // and products are used up. Where the loss or the gradient is not finite, parameters and moments
  // stay as they are. Throws kInternal where backward has not made a gradient that is kept as a
  // product.
  void step(StepState& state);

 private:
  void add_squares(StepState& state);
  // Appends the ranges of gradients that are kept as products.
  void add_products(std::vector<UpdateRange>& ranges) const;

  OptimizerOptions options_;
  Parameters& parameters_;
  Kernels& kernels_;
  std::vector<UpdateRange> all_;            // one for each parameter that trains
  std::vector<UpdateRange> ranges_;         // of summed gradients, neighbours joined
  std::vector<Gradient> summed_gradients_;  // the same gradients, with more neighbours joined
  int64_t product_elements_ = 0;            // of all gradients that are kept as products
};

}  // namespace berth
