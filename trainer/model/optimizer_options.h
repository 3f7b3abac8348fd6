#pragma once

#include <cstdint>

namespace berth {

enum class OptimizerType { kAdamW, kLamb };

// The factors of Adam's moving averages, which AdamW and LAMB share.
struct AdamWOptions {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

struct OptimizerOptions {
  OptimizerType type = OptimizerType::kAdamW;
  AdamWOptions adamw{};        // LAMB uses them, too.
  double weight_decay = 0.01;  // Applies to the parameters whose ParameterSpec::decays is true.
  double max_grad_norm = 1.0;  // 0 means no clipping.
  // The rate of a parameter divided by the rate of one a layer above it (ELECTRA, Clark et al.
  // 2020, arXiv:2003.10555). The deepest parameters have the whole rate.
  double layerwise_decay = 1;
  // Parameters of a smaller ParameterSpec::depth do not train: parameter_table() takes it.
  int64_t first_depth = 0;
};

}  // namespace berth
