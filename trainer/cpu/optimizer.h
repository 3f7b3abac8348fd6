#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/optimizer_options.h"

namespace berth {

// Whether the optimizer changes the parameter.
bool learns(const ParameterSpec& spec, const OptimizerOptions& options);

// AdamW or LAMB, with clipping by the global norm over all of `parameters` that learn: those that
// train and are deep enough. They must have gradients, which LAMB wants summed, and outlive it.
// The two moments are one block each, laid out as the parameters are. Not thread-safe.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels);

  // One update from the gradients of the state's examples, which it zeroes. Where the loss or the
  // gradient is not finite, parameters and moments stay as they are.
  void step(StepState& state);

  // Forgets the gradients of an update that is abandoned, so that the next one starts from none.
  void discard_gradients();

  Tensor first_moment() const;   // [parameters.size()]: exp_avg
  Tensor second_moment() const;  // [parameters.size()]: exp_avg_sq
  // Those of one parameter.
  Tensor first_moment(size_t index) const;
  Tensor second_moment(size_t index) const;
  void moments_written();  // To be called after somebody else wrote to moments.
  void clear_moments();    // Sets both to zero.

 private:
  void add_squares(StepState& state);
  void update_products(const StepState& state);
  bool updates(const ProductGradient& product) const;

  OptimizerOptions options_;
  Parameters& parameters_;
  Kernels& kernels_;
  std::vector<UpdateRange> all_;      // of every parameter
  std::vector<UpdateRange> ranges_;   // what learns and is summed
  std::vector<UpdateRange> squared_;  // summed ones, without tables that are looked up
  std::vector<UpdateRange> frozen_;   // what has gradients, but does not learn
  int64_t product_elements_ = 0;      // that learn, by gradients that are not summed
  std::unique_ptr<Memory> first_moment_, second_moment_;
};

}  // namespace berth
