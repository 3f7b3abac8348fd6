#include "trainer/cpu/optimizer.h"

#include <algorithm>
#include <cmath>

#include "storage/base/error.h"

namespace berth {

namespace {

Tensor flat(Tensor x) {
  return {.data = x.data, .dtype = x.dtype, .rank = 1, .shape = {x.elements()}};
}

// How the optimizer treats a parameter, without tensors.
UpdateRange treatment_of(const OptimizerOptions& options, const ParameterSpec& spec,
                         int64_t deepest) {
  const auto layers_above = static_cast<double>(deepest - spec.depth);
  return {.w = {},
          .m = {},
          .v = {},
          .weight_decay = spec.decays ? static_cast<float>(options.weight_decay) : 0.0f,
          .rate_scale = static_cast<float>(std::pow(options.layerwise_decay, layers_above)),
          .adapts = spec.decays};
}

int64_t deepest_of(std::span<const ParameterSpec> specs) {
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  return deepest;
}

// One range for each parameter that trains. The gradient is null unless it is summed.
std::vector<UpdateRange> ranges_of(const OptimizerOptions& options, const Parameters& parameters) {
  const std::span<const ParameterSpec> specs = parameters.specs();
  const int64_t deepest = deepest_of(specs);
  std::vector<UpdateRange> ranges;
  for (size_t i = parameters.first_trained(); i < specs.size(); ++i) {
    const bool is_summed = parameters.gradient_form(i) == GradientForm::kSummed;
    UpdateRange range = treatment_of(options, specs[i], deepest);
    range.w = flat(parameters.value(i));
    range.g = is_summed ? flat(parameters.gradient(i)) : Tensor();
    range.m = flat(parameters.first_moment(i));
    range.v = flat(parameters.second_moment(i));
    range.marks = parameters.marks(i);
    ranges.push_back(range);
  }
  return ranges;
}

// The range of one piece. It has moments where `rank` owns it.
UpdateRange range_of(const OptimizerShards::Piece& piece, int64_t rank,
                     const OptimizerOptions& options, const Parameters& parameters,
                     int64_t deepest) {
  const ParameterSpec& spec = parameters.specs()[piece.parameter];
  UpdateRange range = treatment_of(options, spec, deepest);
  range.w = parameters.trained_values().slice(piece.begin, piece.count);
  range.g = parameters.gradients().slice(piece.begin, piece.count);
  if (piece.rank == rank) {
    range.m = parameters.first_moments().slice(piece.at, piece.count);
    range.v = parameters.second_moments().slice(piece.at, piece.count);
  }
  if (const Tensor marks = parameters.marks(piece.parameter)) {
    const int64_t first =
        parameters.offset(piece.parameter) - parameters.offset(parameters.first_trained());
    range.marks = marks.slice((piece.begin - first) / spec.columns(), piece.count / spec.columns());
  }
  return range;
}

bool follows(const Tensor& a, const Tensor& b) { return a.data + a.size_bytes() == b.data; }

// Whether the two ranges lie end to end in every block, so that one range can stand for both.
bool are_neighbours(const UpdateRange& a, const UpdateRange& b) {
  return follows(a.w, b.w) && follows(a.g, b.g) && follows(a.m, b.m) && follows(a.v, b.v);
}

bool are_treated_alike(const UpdateRange& a, const UpdateRange& b) {
  return !a.marks && !b.marks && a.weight_decay == b.weight_decay && a.rate_scale == b.rate_scale;
}

void extend(UpdateRange& range, int64_t elements) {
  for (Tensor* each : {&range.w, &range.g, &range.m, &range.v}) each->shape[0] += elements;
}

// The ranges that have summed gradients and for which wanted(range) is true. Neighbours are joined
// if joins(range, next) is true.
template <typename Wanted, typename Joins>
std::vector<UpdateRange> join(std::span<const UpdateRange> all, const Wanted& wanted,
                              const Joins& joins) {
  std::vector<UpdateRange> ranges;
  for (const UpdateRange& next : all) {
    if (!next.g || !wanted(next)) continue;
    if (!ranges.empty() && are_neighbours(ranges.back(), next) && joins(ranges.back(), next)) {
      extend(ranges.back(), next.w.elements());
    } else {
      ranges.push_back(next);
    }
  }
  return ranges;
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, Parameters& parameters, Kernels& kernels,
                     const OptimizerShards* shards, Communicator* ranks)
    : options_(options),
      parameters_(parameters),
      kernels_(kernels),
      shards_(shards),
      ranks_(ranks) {
  // 1. What this rank updates, parameter by parameter, or piece by piece.
  if (shards_ == nullptr) {
    all_ = ranges_of(options, parameters);
  } else {
    const int64_t deepest = deepest_of(parameters.specs());
    for (const OptimizerShards::Piece& piece : shards_->pieces()) {
      const UpdateRange range = range_of(piece, ranks_->rank(), options, parameters, deepest);
      if (range.m) {
        all_.push_back(range);
      } else if (range.marks && range.weight_decay != 0) {
        rows_of_others_.push_back(range);
      }
    }
  }
  // 2. Neighbours are joined, so that the kernels get few long ranges. LAMB needs single
  // parameters.
  const bool is_lamb = options.type == OptimizerType::kLamb;
  ranges_ = join(
      all_, [](const UpdateRange&) { return true; },
      [&](const UpdateRange& a, const UpdateRange& b) {
        return !is_lamb && are_treated_alike(a, b);
      });
  // 3. The norm does not treat parameters differently, so it joins more of them.
  const std::vector<UpdateRange> without_marks = join(
      all_, [](const UpdateRange& range) { return !range.marks; },
      [](const UpdateRange&, const UpdateRange&) { return true; });
  for (const UpdateRange& range : without_marks) summed_gradients_.push_back({.values = range.g});
  for (const UpdateRange& range : ranges_) {
    if (range.marks) summed_gradients_.push_back({.values = range.g, .marks = range.marks});
  }
  for (const UpdateRange& range : all_) {
    if (!range.g) product_elements_ += range.w.elements();
  }
  if (is_lamb && product_elements_ > 0) {
    throw Error(Code::kInternal, "LAMB needs summed gradients");
  }
  if (is_lamb) {
    parameters.mark_all_rows();  // LAMB writes to all moments and keeps no marks
  } else {
    expect_sparse_moments();
  }
}

// The moments of rows that no text contains are never written, and so take no memory.
void Optimizer::expect_sparse_moments() const {
  if (shards_ != nullptr) {
    const int64_t begin = shards_->table_begin(ranks_->rank());
    for (const Tensor& block : {parameters_.first_moments(), parameters_.second_moments()}) {
      const Tensor tables = block.slice(begin, block.elements() - begin);
      expect_sparse(tables.data, tables.size_bytes());
    }
    return;
  }
  for (const UpdateRange& range : all_) {
    if (!range.marks) continue;
    expect_sparse(range.m.data, range.m.size_bytes());
    expect_sparse(range.v.data, range.v.size_bytes());
  }
}

void Optimizer::update(StepState& state) {
  state.finish_gradients(static_cast<float>(options_.max_grad_norm));
  if (!state.outcome().was_applied()) {
    parameters_.clear_gradients();
    return;
  }
  if (options_.type == OptimizerType::kLamb) {
    if (shards_ != nullptr) return update_lamb_shares(state);
    kernels_.lamb(ranges_, options_.adamw, state);
    return;
  }
  std::vector<UpdateRange> ranges = ranges_;
  add_products(ranges);
  ranges.insert(ranges.end(), rows_of_others_.begin(), rows_of_others_.end());
  kernels_.adamw(ranges, options_.adamw, state);
  for (Parameter& parameter : parameters_.handles()) parameter.drop_product();
}

// The norms of a parameter are sums over its pieces on all ranks, in the order of the ranks.
void Optimizer::update_lamb_shares(const StepState& state) {
  const ProfileScope scope(kernels_.profiler(), "lamb", bytes_of(all_));
  std::vector<size_t> parameters;  // of the ranges
  for (const OptimizerShards::Piece& piece : shards_->pieces()) {
    if (piece.rank == ranks_->rank()) parameters.push_back(piece.parameter);
  }
  std::vector<double> own(2 * parameters_.specs().size());
  for (size_t i = 0; i < all_.size(); ++i) {
    const LambSquares squares = kernels_.lamb_direction(all_[i], options_.adamw, state);
    own[2 * parameters[i]] += squares.weights;
    own[2 * parameters[i] + 1] += squares.steps;
  }
  std::vector<double> sums(own.size());
  for (const std::vector<double>& of_rank : gather_values(*ranks_, own)) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += of_rank[i];
  }
  for (size_t i = 0; i < all_.size(); ++i) {
    const size_t parameter = parameters[i];
    kernels_.lamb_apply(all_[i], {sums[2 * parameter], sums[2 * parameter + 1]}, state);
  }
}

// Adds a range for each whole or factored gradient. It covers all neighbouring parameters that the
// gradient's handle stands for, because their values and moments lie end to end.
void Optimizer::add_products(std::vector<UpdateRange>& ranges) const {
  for (const Parameter& parameter : parameters_.handles()) {
    if (!parameter.keeps_product()) continue;
    UpdateRange range = all_[parameter.index() - parameters_.first_trained()];
    extend(range, parameter.value().elements() - range.w.elements());
    if (parameter.form() == GradientForm::kFactored) {
      range.factors = parameter.factors();
    } else {
      range.g = flat(parameter.gradient());
      range.zeroes_gradient = false;  // the next product overwrites it
    }
    ranges.push_back(range);
  }
}

void Optimizer::add_squares(StepState& state) {
  std::vector<Gradient> gradients = summed_gradients_;
  int64_t elements = 0;
  for (const Parameter& parameter : parameters_.handles()) {
    if (!parameter.keeps_product() || !parameter.product_tokens()) continue;
    if (parameter.form() == GradientForm::kFactored) {
      gradients.push_back({.factors = parameter.factors()});
    } else {
      gradients.push_back({.values = parameter.gradient()});
    }
    elements += parameter.value().elements();
  }
  if (elements != product_elements_) {
    throw Error(Code::kInternal, "an update lacks a gradient");
  }
  kernels_.add_squares(gradients, state);
}

}  // namespace berth
