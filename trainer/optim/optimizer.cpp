#include "trainer/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace berth {

namespace {

// One for each parameter of `depth` and more; neighbours that are treated alike are joined where a
// range need not be one parameter.
std::vector<UpdateRange> ranges_of(const OptimizerOptions& options, const Parameters& parameters) {
  std::vector<UpdateRange> ranges;
  const std::span<const ParameterSpec> specs = parameters.specs();
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].depth < options.first_depth) continue;
    const auto layers_above = static_cast<double>(deepest - specs[i].depth);
    const UpdateRange range{
        .begin = parameters.offset(i),
        .end = parameters.offset(i) + specs[i].elements(),
        .weight_decay = specs[i].decays ? static_cast<float>(options.weight_decay) : 0.0f,
        .rate_scale = static_cast<float>(std::pow(options.layerwise_decay, layers_above)),
        .adapts = specs[i].decays};
    const bool joins = options.type == OptimizerType::kAdamW && !ranges.empty() &&
                       ranges.back().end == range.begin &&
                       ranges.back().weight_decay == range.weight_decay &&
                       ranges.back().rate_scale == range.rate_scale;
    if (joins) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels)
    : options_(options),
      parameters_(parameters),
      kernels_(kernels),
      ranges_(ranges_of(options, parameters)),
      frozen_(ranges_.empty() ? parameters.size() : ranges_.front().begin) {
  const size_t size_bytes = static_cast<size_t>(parameters.size()) * sizeof(float);
  first_moment_ = kernels.allocate(size_bytes);
  second_moment_ = kernels.allocate(size_bytes);
}

void Optimizer::step(StepState& state) {
  const Tensor gradients = parameters_.gradients();
  kernels_.zero(gradients.first(frozen_));
  kernels_.add_squares(gradients.slice(frozen_, gradients.rows() - frozen_), state);
  kernels_.finish_gradients(static_cast<float>(options_.max_grad_norm), state);
  const auto update = options_.type == OptimizerType::kLamb ? &Kernels::lamb : &Kernels::adamw;
  (kernels_.*update)(parameters_.values(), gradients, first_moment(), second_moment(), ranges_,
                     options_.adamw, state);
}

Tensor Optimizer::first_moment() const {
  return {.data = first_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

Tensor Optimizer::second_moment() const {
  return {.data = second_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

}  // namespace berth
