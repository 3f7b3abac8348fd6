#pragma once

#include <span>
#include <vector>

#include "trainer/model/optimizer_options.h"
#include "trainer/model/parameter_table.h"
#include "trainer/xla/network/batch_inputs.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth {

// What an update reads, and what it makes of that. Each vector has an entry for each parameter that
// trains, in the order of the table.
struct OptimizerState {
  std::vector<Value> values, first_moments, second_moments;
};

// The gradients of a sum of losses, with that sum, and the sum of the examples' weights.
struct SummedGradients {
  std::vector<Value> gradients;
  Value loss_sum, examples;  // f32
};

struct Update {
  OptimizerState state;
  Value outcome;  // f32 [3], as in programs.h
};

// One step of AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) or LAMB (You et al. 2020,
// arXiv:1904.00962) on the mean loss, with its gradient clipped by the norm over all parameters.
// `specs` is the whole table. `steps_before`, u32, counts the updates before this one;
// `learning_rate` is f32. The state stays as it is where the loss or the norm is not finite.
Update apply_gradients(const OptimizerOptions& options, std::span<const ParameterSpec> specs,
                       const OptimizerState& state, const SummedGradients& summed,
                       Value steps_before, Value learning_rate);

}  // namespace berth
