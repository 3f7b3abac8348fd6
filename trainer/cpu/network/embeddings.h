#pragma once

#include <optional>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/config.h"

namespace berth {

// The sum of word, position and token type embeddings, layer normalization and dropout (Devlin et
// al. 2018, arXiv:1810.04805, section 3). Factorised embeddings are then projected to the hidden
// size (Lan et al. 2019, arXiv:1909.11942, section 3.1).
class Embeddings {
 public:
  Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  void forward(const StepContext& step, Tensor y);    // y [T,H]
  void backward(const StepContext& step, Tensor dy);  // overwrites dy

 private:
  EmbeddingTables tables() const;
  EmbeddingGradients gradients() const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Parameter& word_;
  Parameter* position_ = nullptr;    // null: the model has no table of absolute positions
  Parameter* token_type_ = nullptr;  // null: the model has no token types
  LayerNorm norm_;
  std::optional<Linear> projection_;
  Tensor sum_;                       // [T,E]
  Tensor normalized_, dnormalized_;  // [T,E], with a projection
};

}  // namespace berth
