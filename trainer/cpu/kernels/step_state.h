#pragma once

#include <cstdint>

namespace berth {

// What an update is told. Uploaded by begin_step().
struct StepInputs {
  uint64_t seed = 0;
  uint64_t step = 0;  // updates done before this one
  float learning_rate = 0;
};

// What an update left behind. Read by read_step(), the one call that waits for the backend.
struct StepOutcome {
  double loss_sum = 0;   // over the examples of all micro-batches
  double examples = 0;   // how many (their weights' sum)
  double grad_norm = 0;  // of the mean loss's gradient, before clipping
};

// The running state of an update: what it was told, and the sums that its micro-batches add to.
struct StepState {
  StepInputs inputs;
  uint64_t first_token = 0, first_sequence = 0;  // of the micro-batch at hand, in the update
  double loss_sum = 0, examples = 0, squares = 0;
  double grad_norm = 0;
  float gradient_scale = 0;
};

}  // namespace berth
