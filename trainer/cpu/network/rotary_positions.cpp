#include "trainer/cpu/network/rotary_positions.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace berth {
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
          .sines = table_of(table.sines, positions_)};
}

void RotaryPositions::rotate(const StepContext& step, int64_t layer, Tensor qkv) {
  kernels_.rotate(qkv, 2 * config_.hidden_size, step.batch.position_ids, angles(layer));
}

void RotaryPositions::rotate_backward(const StepContext& step, int64_t layer, Tensor dqkv) {
  kernels_.rotate_backward(dqkv, 2 * config_.hidden_size, step.batch.position_ids, angles(layer));
}

}  // namespace berth
