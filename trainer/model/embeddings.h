#pragma once

#include "trainer/model/config.h"
#include "trainer/model/context.h"
#include "trainer/model/linear.h"

namespace berth {

// Word + position + token type embeddings, layer normalization, dropout (Devlin et al. 2018,
// arXiv:1810.04805, section 3).
class Embeddings {
 public:
  Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  void forward(const StepContext& step, Tensor y);    // y [T,H]
  void backward(const StepContext& step, Tensor dy);  // dy is used up

 private:
  const ModelConfig& config_;
  Kernels& kernels_;
  Tensor word_, position_, type_, dword_, dposition_, dtype_;
  LayerNorm norm_;
  Tensor sum_, mean_, rstd_;  // [T,H], [T], [T]
};

}  // namespace berth
