#pragma once

#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// One layer normalization of the network: its parameters, and the statistics of the rows that the
// last forward pass normalized. Copies share the parameters, and
// each copy needs an allocate() of its own.
class LayerNorm {
 public:
  // The parameters `name`.weight and, if there is one, `name`.bias.
  LayerNorm(Parameters& parameters, const std::string& name, double epsilon);

  void allocate(Arena& arena, int64_t most_rows);

  LayerNormParameters parameters() const {
    return {.gamma = gamma_.value(),
            .beta = beta_ != nullptr ? beta_->value() : Tensor(),
            .epsilon = epsilon_};
  }
  LayerNormGradients gradients() const {
    return {.dgamma = gamma_.gradient(), .dbeta = beta_ != nullptr ? beta_->gradient() : Tensor()};
  }
  NormStatistics statistics(int64_t rows) const {
    return {.mean = statistics_.mean.first(rows), .rstd = statistics_.rstd.first(rows)};
  }
  // x [R,H], which the last forward pass normalized, with its statistics.
  NormalizedRows normalized(ConstTensor x) const {
    return {
        .x = x, .mean = statistics_.mean.first(x.rows()), .rstd = statistics_.rstd.first(x.rows())};
  }

 private:
  Parameter& gamma_;
  Parameter* beta_;  // null: there is none
  float epsilon_;
  NormStatistics statistics_;
};

}  // namespace berth
