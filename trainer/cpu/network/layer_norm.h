#pragma once

#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// One layer normalization of the network: views of its parameters and their gradients, and the
// statistics of the rows that the last forward pass normalized. Copies share the parameters, and
// each copy needs an allocate() of its own.
class LayerNorm {
 public:
  // The parameters `name`.weight and `name`.bias.
  LayerNorm(Parameters& parameters, const std::string& name, double epsilon)
      : parameters_{.gamma = parameters.value(name + ".weight"),
                    .beta = parameters.value(name + ".bias"),
                    .epsilon = static_cast<float>(epsilon)},
        gradients_{.dgamma = parameters.gradient(name + ".weight"),
                   .dbeta = parameters.gradient(name + ".bias")} {}

  void allocate(Arena& arena, int64_t most_rows) {
    statistics_.mean = arena.make(DType::kF32, {most_rows});
    statistics_.rstd = arena.make(DType::kF32, {most_rows});
  }

  const LayerNormParameters& parameters() const { return parameters_; }
  const LayerNormGradients& gradients() const { return gradients_; }
  NormStatistics statistics(int64_t rows) const {
    return {.mean = statistics_.mean.first(rows), .rstd = statistics_.rstd.first(rows)};
  }
  // x [R,H], which the last forward pass normalized, with its statistics.
  NormalizedRows normalized(ConstTensor x) const {
    return {
        .x = x, .mean = statistics_.mean.first(x.rows()), .rstd = statistics_.rstd.first(x.rows())};
  }

 private:
  LayerNormParameters parameters_;
  LayerNormGradients gradients_;
  NormStatistics statistics_;
};

}  // namespace berth
