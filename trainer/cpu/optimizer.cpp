#include "trainer/cpu/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "storage/base/error.h"

namespace berth {

namespace {

// One for each parameter.
std::vector<UpdateRange> all_ranges(const OptimizerOptions& options, const Parameters& parameters) {
  const std::span<const ParameterSpec> specs = parameters.specs();
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  std::vector<UpdateRange> ranges;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto layers_above = static_cast<double>(deepest - specs[i].depth);
    ranges.push_back(
        {.begin = parameters.offset(i),
         .end = parameters.offset(i) + specs[i].elements(),
         .weight_decay = specs[i].decays ? static_cast<float>(options.weight_decay) : 0.0f,
         .rate_scale = static_cast<float>(std::pow(options.layerwise_decay, layers_above)),
         .adapts = specs[i].decays,
         .marks = parameters.marks(i)});
  }
  return ranges;
}

// Those of the parameters that are wanted(i); neighbours are joined where joins(range, next).
template <typename Wanted, typename Joins>
std::vector<UpdateRange> join(std::span<const UpdateRange> all, const Wanted& wanted,
                              const Joins& joins) {
  std::vector<UpdateRange> ranges;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!wanted(i)) continue;
    if (!ranges.empty() && ranges.back().end == all[i].begin && joins(ranges.back(), all[i])) {
      ranges.back().end = all[i].end;
    } else {
      ranges.push_back(all[i]);
    }
  }
  return ranges;
}

bool are_treated_alike(const UpdateRange& a, const UpdateRange& b) {
  return !a.marks && !b.marks && a.weight_decay == b.weight_decay && a.rate_scale == b.rate_scale;
}

}  // namespace

bool learns(const ParameterSpec& spec, const OptimizerOptions& options) {
  return spec.trains && spec.depth >= options.first_depth;
}

Optimizer::Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels)
    : options_(options), parameters_(parameters), kernels_(kernels) {
  const auto learns_at = [&](size_t i) { return learns(parameters.specs()[i], options); };
  const auto is_summed = [&](size_t i) {
    return parameters.gradient_form(i) == GradientForm::kSummed;
  };
  const bool is_lamb = options.type == OptimizerType::kLamb;
  all_ = all_ranges(options, parameters);
  ranges_ = join(
      all_, [&](size_t i) { return learns_at(i) && is_summed(i); },
      [&](const UpdateRange& a, const UpdateRange& b) {
        return !is_lamb && are_treated_alike(a, b);
      });
  const auto always = [](const UpdateRange&, const UpdateRange&) { return true; };
  squared_ = join(
      all_, [&](size_t i) { return learns_at(i) && is_summed(i) && !all_[i].marks; }, always);
  // What does not train has no gradient: its zeros are not touched, so that they take no memory.
  frozen_ = join(
      all_, [&](size_t i) { return parameters.specs()[i].trains && !learns_at(i) && is_summed(i); },
      always);
  for (size_t i = 0; i < all_.size(); ++i) {
    if (learns_at(i) && !is_summed(i)) product_elements_ += all_[i].end - all_[i].begin;
  }
  if (is_lamb && product_elements_ > 0) {
    throw Error(Code::kInternal, "LAMB wants gradients that are summed");
  }
  const size_t size_bytes = static_cast<size_t>(parameters.size()) * sizeof(float);
  first_moment_ = kernels.allocate(size_bytes);
  second_moment_ = kernels.allocate(size_bytes);
  if (is_lamb) {
    parameters.mark_all_rows(kernels);  // it writes to all, and keeps no marks
    return;
  }
  for (const UpdateRange& range : all_) {
    if (!range.marks) continue;
    for (const Tensor& moment : {first_moment(), second_moment()}) {
      kernels.expect_sparse(moment.slice(range.begin, range.end - range.begin));
    }
  }
}

void Optimizer::step(StepState& state) {
  const Tensor gradients = parameters_.gradients();
  for (const UpdateRange& range : frozen_) {
    kernels_.zero(gradients.slice(range.begin, range.end - range.begin));
  }
  add_squares(state);
  kernels_.finish_gradients(static_cast<float>(options_.max_grad_norm), state);
  if (!std::isfinite(state.loss_sum) || !std::isfinite(state.grad_norm)) {
    discard_gradients();
    return;
  }
  const auto update = options_.type == OptimizerType::kLamb ? &Kernels::lamb : &Kernels::adamw;
  (kernels_.*update)(parameters_.values(), gradients, first_moment(), second_moment(), ranges_,
                     options_.adamw, state);
  update_products(state);
}

void Optimizer::update_products(const StepState& state) {
  std::vector<UpdateRange> whole;
  std::vector<FactoredUpdate> factored;
  for (const ProductGradient& product : parameters_.products()) {
    if (!updates(product)) continue;
    UpdateRange range = all_[product.index];
    range.end = product.end;
    range.gradient = product.whole;
    if (product.form == GradientForm::kFactored) {
      factored.push_back({product.factors(), range});
    } else {
      whole.push_back(range);
    }
  }
  kernels_.adamw(parameters_.values(), parameters_.gradients(), first_moment(), second_moment(),
                 whole, options_.adamw, state);
  kernels_.adamw_of_products(parameters_.values(), factored, first_moment(), second_moment(),
                             options_.adamw, state);
  for (ProductGradient& product : parameters_.products()) product.tokens.reset();
}

void Optimizer::add_squares(StepState& state) {
  const Tensor gradients = parameters_.gradients();
  for (const UpdateRange& range : squared_) {
    kernels_.add_squares(gradients.slice(range.begin, range.end - range.begin), state);
  }
  for (const UpdateRange& range : ranges_) {
    if (!range.marks) continue;
    kernels_.add_squares_of_rows(gradients.slice(range.begin, range.end - range.begin), range.marks,
                                 state);
  }
  std::vector<FactoredGradient> factors;
  int64_t elements = 0;
  for (const ProductGradient& product : parameters_.products()) {
    if (!updates(product) || !product.tokens) continue;
    if (product.form == GradientForm::kFactored) {
      factors.push_back(product.factors());
    } else {
      kernels_.add_squares(product.whole, state);
    }
    elements += product.end - product.begin;
  }
  if (elements != product_elements_) {
    throw Error(Code::kInternal, "an update lacks a gradient");
  }
  kernels_.add_squares_of_products(factors, state);
}

void Optimizer::discard_gradients() {
  for (const UpdateRange& range : ranges_) {
    kernels_.zero(parameters_.gradients().slice(range.begin, range.end - range.begin));
  }
  for (ProductGradient& product : parameters_.products()) product.tokens.reset();
}

void Optimizer::moments_written() { parameters_.mark_all_rows(kernels_); }

void Optimizer::clear_moments() {
  kernels_.zero(first_moment());
  kernels_.zero(second_moment());
}

bool Optimizer::updates(const ProductGradient& product) const {
  return learns(parameters_.specs()[product.index], options_);
}

Tensor Optimizer::first_moment() const {
  return {.data = first_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

Tensor Optimizer::second_moment() const {
  return {.data = second_moment_->data(), .rank = 1, .shape = {parameters_.size()}};
}

Tensor Optimizer::first_moment(size_t index) const {
  Tensor moment = parameters_.value(index);
  moment.data = first_moment().slice(parameters_.offset(index), moment.elements()).data;
  return moment;
}

Tensor Optimizer::second_moment(size_t index) const {
  Tensor moment = parameters_.value(index);
  moment.data = second_moment().slice(parameters_.offset(index), moment.elements()).data;
  return moment;
}

}  // namespace berth
