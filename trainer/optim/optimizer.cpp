#include "trainer/optim/optimizer.h"

namespace berth {

Optimizer::Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels)
    : options_(options), parameters_(parameters), kernels_(kernels) {
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    const float decay = spec.decays ? static_cast<float>(options.weight_decay) : 0.0f;
    const int64_t begin = parameters.offset(i), end = begin + spec.elements();
    if (!ranges_.empty() && ranges_.back().weight_decay == decay) {
      ranges_.back().end = end;
    } else {
      ranges_.push_back({.begin = begin, .end = end, .weight_decay = decay});
    }
  }
  const size_t size_bytes = static_cast<size_t>(parameters.size()) * sizeof(float);
  first_moment_ = kernels.allocate(size_bytes);
  second_moment_ = kernels.allocate(size_bytes);
}

void Optimizer::step(StepState& state) {
  kernels_.add_squares(parameters_.gradients(), state);
  kernels_.finish_gradients(static_cast<float>(options_.max_grad_norm), state);
  kernels_.adamw(parameters_.values(), parameters_.gradients(), first_moment(), second_moment(),
                 ranges_, options_.adamw, state);
}

Tensor Optimizer::first_moment() const {
  return {.data = first_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

Tensor Optimizer::second_moment() const {
  return {.data = second_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

}  // namespace berth
