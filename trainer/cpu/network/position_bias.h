#pragma once

#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/config.h"

namespace berth {

// MPNet's bias of scores by distance (Song et al. 2020, arXiv:2004.09297), which all layers share.
// Not thread-safe.
class PositionBias {
 public:
  PositionBias(const ModelConfig& config, Parameters& parameters);

  void allocate(Arena& arena);
  void prepare();  // before the layers of a forward pass
  PositionBiasInputs inputs() const { return {.table = table_.value(), .rows = rows_}; }
  // AttentionGradients::dbias: where the backward passes of all layers add. Null if it is frozen.
  Tensor gradient() const { return table_.gradient(); }

 private:
  Parameter& table_;  // [P,A]
  std::vector<int32_t> host_rows_;
  Tensor rows_;  // of the distances in the longest sequence that the model takes
};

}  // namespace berth
