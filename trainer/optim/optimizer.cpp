#include "trainer/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace berth {

namespace {

// One for each parameter that learns; neighbours that are treated alike are joined where a range
// need not be one parameter.
std::vector<UpdateRange> ranges_of(const OptimizerOptions& options, const Parameters& parameters) {
  std::vector<UpdateRange> ranges;
  const std::span<const ParameterSpec> specs = parameters.specs();
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!learns(specs[i], options)) continue;
    const auto layers_above = static_cast<double>(deepest - specs[i].depth);
    const UpdateRange range{
        .begin = parameters.offset(i),
        .end = parameters.offset(i) + specs[i].elements(),
        .weight_decay = specs[i].decays ? static_cast<float>(options.weight_decay) : 0.0f,
        .rate_scale = static_cast<float>(std::pow(options.layerwise_decay, layers_above)),
        .adapts = specs[i].decays,
        .marks = parameters.marks(i)};
    const bool joins = options.type == OptimizerType::kAdamW && !ranges.empty() && !range.marks &&
                       !ranges.back().marks && ranges.back().end == range.begin &&
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

// What has gradients and does not learn. What does not train has none: its zeros are not touched,
// so that they take no memory.
std::vector<UpdateRange> frozen_in(const OptimizerOptions& options, const Parameters& parameters) {
  std::vector<UpdateRange> frozen;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    const int64_t begin = parameters.offset(i), end = begin + spec.elements();
    if (!spec.trains || learns(spec, options)) continue;
    if (!frozen.empty() && frozen.back().end == begin) {
      frozen.back().end = end;
    } else {
      frozen.push_back({.begin = begin, .end = end});
    }
  }
  return frozen;
}

}  // namespace

bool learns(const ParameterSpec& spec, const OptimizerOptions& options) {
  return spec.trains && spec.depth >= options.first_depth;
}

Optimizer::Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels)
    : options_(options),
      parameters_(parameters),
      kernels_(kernels),
      ranges_(ranges_of(options, parameters)),
      frozen_(frozen_in(options, parameters)) {
  const size_t size_bytes = static_cast<size_t>(parameters.size()) * sizeof(float);
  first_moment_ = kernels.allocate(size_bytes);
  second_moment_ = kernels.allocate(size_bytes);
}

void Optimizer::step(StepState& state) {
  const Tensor gradients = parameters_.gradients();
  for (const UpdateRange& range : frozen_) {
    kernels_.zero(gradients.slice(range.begin, range.end - range.begin));
  }
  add_squares(state);
  kernels_.finish_gradients(static_cast<float>(options_.max_grad_norm), state);
  const auto update = options_.type == OptimizerType::kLamb ? &Kernels::lamb : &Kernels::adamw;
  (kernels_.*update)(parameters_.values(), gradients, first_moment(), second_moment(), ranges_,
                     options_.adamw, state);
}

// What does not learn has zeros.
void Optimizer::add_squares(StepState& state) {
  const Tensor gradients = parameters_.gradients();
  int64_t added = ranges_.empty() ? gradients.rows() : ranges_.front().begin;
  for (const UpdateRange& range : ranges_) {
    if (!range.marks) continue;
    kernels_.add_squares(gradients.slice(added, range.begin - added), state);
    kernels_.add_squares_of_rows(gradients.slice(range.begin, range.end - range.begin), range.marks,
                                 state);
    added = range.end;
  }
  kernels_.add_squares(gradients.slice(added, gradients.rows() - added), state);
}

Tensor Optimizer::first_moment() const {
  return {.data = first_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

Tensor Optimizer::second_moment() const {
  return {.data = second_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

}  // namespace berth
