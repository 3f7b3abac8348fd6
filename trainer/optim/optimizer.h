#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/kernels/kernels.h"
#include "trainer/model/parameters.h"

namespace berth {

struct OptimizerOptions {
  AdamWOptions adamw{};
  double weight_decay = 0.01;  // on the parameters whose spec decays
  double max_grad_norm = 1.0;  // 0: no clipping
};

// AdamW with clipping by the global norm over all of `parameters`, which must have gradients and
// outlive it. The two moments are one block each, laid out as the parameters are. Not thread-safe.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels);

  // One update from the gradients of the state's examples, which it zeroes.
  void step(StepState& state);

  Tensor first_moment() const;   // [parameters.size()]: exp_avg
  Tensor second_moment() const;  // [parameters.size()]: exp_avg_sq

 private:
  OptimizerOptions options_;
  Parameters& parameters_;
  Kernels& kernels_;
  std::vector<UpdateRange> ranges_;
  std::unique_ptr<Memory> first_moment_, second_moment_;
};

}  // namespace berth
