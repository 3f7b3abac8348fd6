#include "trainer/cpu/network/relative_positions.h"

#include <algorithm>

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"

namespace berth {
RelativePositions::RelativePositions(const ModelConfig& config, Parameters& parameters,
                                     Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      table_(parameters.parameter(relative_position_names(config).table + ".weight")) {
  const RelativePositionNames names = relative_position_names(config);
  if (!names.norm.empty()) norm_.emplace(parameters, names.norm, config.layer_norm_eps);
}

int64_t RelativePositions::most_rows() const { return table_.value().rows(); }

void RelativePositions::allocate(Arena& arena) {
  all_rows_ = arena.make(DType::kI32, {2 * config_.max_sequence_length() - 1});
  for (Tensor* tensor : {&normalized_, &dnormalized_, &dropped_, &dpositions_}) {
    *tensor = arena.make(DType::kF32, {most_rows(), config_.hidden_size});
  }
  dqk_ = arena.make(DType::kF32, {most_rows(), 2 * config_.hidden_size});
  if (norm_) norm_->allocate(arena, most_rows());
}

void RelativePositions::forward(const StepContext& step) {
  const int64_t longest = std::max<int64_t>(1, step.batch.longest);
  first_row_ = relative_row(config_, 1 - longest);
  host_rows_.clear();
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    host_rows_.push_back(relative_row(config_, distance) - static_cast<int32_t>(first_row_));
  }
  num_rows_ = host_rows_.back() + 1;
  rows_ = all_rows_.first(2 * longest - 1);
  copy_in(rows_, host_rows_.data());
  const Tensor table = table_.value().slice(first_row_, num_rows_);
  const Tensor normalized = normalized_.first(num_rows_);
  if (norm_) {
    kernels_.layer_norm_forward(table, norm_->parameters(), normalized,
                                norm_->statistics(num_rows_));
  } else {
    kernels_.convert(table, normalized);
  }
}

void RelativePositions::begin_backward() { kernels_.zero(dnormalized_.first(num_rows_)); }

void RelativePositions::finish_backward() {
  const Tensor d = dnormalized_.first(num_rows_);
  if (norm_) {
    kernels_.layer_norm_backward(d, norm_->normalized(table_.value().slice(first_row_, num_rows_)),
                                 norm_->parameters(), d, norm_->gradients());
  }
  kernels_.add(d, table_.gradient().slice(first_row_, num_rows_));
}

Dropout RelativePositions::dropout(const StepContext& step, uint32_t site) const {
  return counted(step.dropout(config_.hidden_dropout_prob, site, DropoutRows::kTable));
}

Dropout RelativePositions::counted(Dropout dropout) const {
  dropout.first_row = static_cast<uint64_t>(first_row_);
  return dropout;
}

Tensor RelativePositions::dropped(const StepContext& step, uint32_t site) {
  const Tensor dropped = dropped_.first(num_rows_);
  kernels_.dropout(normalized_.first(num_rows_), dropout(step, site), step.state, dropped);
  return dropped;
}

void RelativePositions::add_gradient(const StepContext& step, uint32_t site, Tensor d) {
  kernels_.dropout(d, dropout(step, site), step.state, d);
  kernels_.add(d, dnormalized_.first(num_rows_));
}

}  // namespace berth
