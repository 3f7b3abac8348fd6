#pragma once

#include <cmath>
#include <cstdint>

#include "trainer/model/update.h"

namespace berth {

// One update while it runs: its inputs, and the sums to which its micro-batches add. Not
// thread-safe.
struct StepState {
  // Starts a new update: all sums are zero afterwards.
  void begin(const UpdateInputs& update) {
    *this = {};
    inputs = update;
  }
  // Starts the next micro-batch. Dropout counts its rows from these numbers of tokens and
  // sequences, which come before it in this update on any rank.
  void begin_micro_batch(uint64_t tokens_before, uint64_t sequences_before) {
    first_token = tokens_before;
    first_sequence = sequences_before;
  }
  // Ends the sums: computes grad_norm, and gradient_scale = 1 / examples, which is smaller by
  // max_grad_norm / grad_norm where the norm exceeds max_grad_norm (0: no clipping).
  void finish_gradients(float max_grad_norm) {
    const double mean = examples > 0 ? 1 / examples : 0;
    grad_norm = std::sqrt(squares) * mean;
    const bool clips = max_grad_norm > 0 && grad_norm > static_cast<double>(max_grad_norm);
    const double clip = clips ? static_cast<double>(max_grad_norm) / grad_norm : 1;
    gradient_scale = static_cast<float>(mean * clip);
  }
  UpdateOutcome outcome() const {
    return {.loss_sum = loss_sum, .examples = examples, .grad_norm = grad_norm};
  }

  UpdateInputs inputs{};
  uint64_t first_token = 0, first_sequence = 0;
  double loss_sum = 0, examples = 0;
  // The second loss of tasks that have two, in evaluation. In training there is one sum of both.
  double second_loss_sum = 0, second_examples = 0;
  double squares = 0;        // of the summed gradient's elements
  double grad_norm = 0;      // as in UpdateOutcome
  float gradient_scale = 0;  // by which the optimizer multiplies the summed gradient
};

}  // namespace berth
