#include "trainer/cpu/network/positions.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "trainer/model/part_names.h"
#include "trainer/model/table_rows.h"

namespace berth {

PositionBias::PositionBias(const ModelConfig& config, Parameters& parameters)
    : table_(parameters.parameter(position_bias_name(config) + ".weight")) {
  const int64_t longest = config.max_sequence_length();
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    host_rows_.push_back(position_bias_row(distance));
  }
}

void PositionBias::allocate(Arena& arena) {
  rows_ = arena.make(DType::kI32, {static_cast<int64_t>(host_rows_.size())});
}

void PositionBias::prepare() { copy_in(rows_, host_rows_.data()); }

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
  make_all(arena, {&normalized_, &dnormalized_, &dropped_, &dpositions_},
           {most_rows(), config_.hidden_size});
  dqk_ = arena.make(DType::kF32, {most_rows(), 2 * config_.hidden_size});
  if (norm_) norm_->allocate(arena, most_rows());
}

void RelativePositions::forward(const StepContext& step) {
  const int64_t longest = std::max<int64_t>(1, step.batch.longest);
  // The rows of the table that distances of this batch select, counted from the first of them.
  first_row_ = relative_row(config_, 1 - longest);
  host_rows_.clear();
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    host_rows_.push_back(relative_row(config_, distance) - static_cast<int32_t>(first_row_));
  }
  num_rows_ = host_rows_.back() + 1;
  rows_ = all_rows_.first(2 * longest - 1);
  copy_in(rows_, host_rows_.data());
  // normalized [P,H] for all layers.
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

namespace {

std::set<double> bases_of(const ModelConfig& config) {
  std::set<double> bases;
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) bases.insert(config.rope_base(i));
  return bases;
}

ConstTensor table_of(std::vector<float>& elements, int64_t rows) {
  const auto columns = static_cast<int64_t>(elements.size()) / std::max<int64_t>(1, rows);
  return Tensor{
      .data = reinterpret_cast<std::byte*>(elements.data()), .rank = 2, .shape = {rows, columns}};
}

}  // namespace

size_t RotaryPositions::table_bytes(const ModelConfig& config, int64_t longest) {
  if (config.rope_theta == 0) return 0;
  return bases_of(config).size() * static_cast<size_t>(longest * config.head_size()) *
         sizeof(float);
}

void RotaryPositions::prepare(const StepContext& step) {
  const int32_t* const ids = step.batch.position_ids.i32();
  int64_t needed = 0;
  for (int64_t t = 0; t < step.batch.num_tokens; ++t) {
    needed = std::max<int64_t>(needed, ids[t] + 1);
  }
  if (needed <= positions_) return;
  positions_ = needed;
  const int64_t half = config_.head_size() / 2;
  for (const double base : bases_of(config_)) {
    Table& table = tables_[base];
    table.cosines.clear();
    table.sines.clear();
    table.cosines.reserve(static_cast<size_t>(needed * half));
    table.sines.reserve(static_cast<size_t>(needed * half));
    for (int64_t position = 0; position < needed; ++position) {
      for (int64_t i = 0; i < half; ++i) {
        const float exponent = static_cast<float>(2 * i) / static_cast<float>(2 * half);
        const float frequency =
            1.0f / static_cast<float>(std::pow(base, static_cast<double>(exponent)));
        const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
        table.cosines.push_back(static_cast<float>(std::cos(angle)));
        table.sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }
}

RotaryAngles RotaryPositions::angles(int64_t layer) {
  Table& table = tables_.at(config_.rope_base(layer));
  return {.cosines = table_of(table.cosines, positions_),
          .sines = table_of(table.sines, positions_),
          .turns_neighbours = config_.rotary_turns_neighbours};
}

void RotaryPositions::rotate(const StepContext& step, int64_t layer, Tensor qkv) {
  kernels_.rotate(qkv, 2 * config_.hidden_size, step.batch.position_ids, angles(layer));
}

void RotaryPositions::rotate_backward(const StepContext& step, int64_t layer, Tensor dqkv) {
  kernels_.rotate_backward(dqkv, 2 * config_.hidden_size, step.batch.position_ids, angles(layer));
}

}  // namespace berth
