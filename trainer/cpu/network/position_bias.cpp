#include "trainer/cpu/network/position_bias.h"

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"

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

}  // namespace berth
