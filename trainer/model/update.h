#pragma once

#include <cmath>
#include <cstdint>

namespace berth {

// The inputs of an update besides its batch.
struct UpdateInputs {
  uint64_t seed = 0;
  uint64_t step = 0;  // The number of updates before this one; dropout and bias correction use it.
  float learning_rate = 0;
};

// The outcome of an update.
struct UpdateOutcome {
  double loss_sum = 0;   // Over the examples of all micro-batches.
  double examples = 0;   // The sum of the examples' weights.
  double grad_norm = 0;  // The norm of the mean loss's gradient, before clipping.

  // False: the loss or the gradient is not a finite number. The engine then left parameters and
  // optimizer state as they were before this update.
  bool was_applied() const { return std::isfinite(loss_sum) && std::isfinite(grad_norm); }
};

}  // namespace berth
