#include "trainer/cpu/network/layer_norm.h"

namespace berth {

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, double epsilon)
    : gamma_(parameters.parameter(name + ".weight")),
      beta_(parameters.has(name + ".bias") ? &parameters.parameter(name + ".bias") : nullptr),
      epsilon_(static_cast<float>(epsilon)) {}

void LayerNorm::allocate(Arena& arena, int64_t most_rows) {
  statistics_.mean = arena.make(DType::kF32, {most_rows});
  statistics_.rstd = arena.make(DType::kF32, {most_rows});
}

}  // namespace berth
