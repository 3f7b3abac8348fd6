#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/config.h"

namespace berth {

// The convolution that the larger DeBERTa-v2 models have beside their first layer (He et al. 2020,
// arXiv:2006.03654, and its published code). It mixes neighbouring tokens.
//   y = layer_norm(layer(x) + activation(dropout(convolution(x))))
class Convolution {
 public:
  Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  // x is the input of the first layer, and layer_output is its output. Both are [T,H], and so is
  // the result, which is valid until the next forward.
  Tensor forward(const StepContext& step, Tensor x, Tensor layer_output);
  // d holds dy and becomes the gradient of layer_output.
  void backward(const StepContext& step, Tensor d, const LayerScratch& scratch);
  // Adds the gradient of x, which the last backward computed, to dx. To be called after the layer's
  // own backward has written dx.
  void add_input_gradient(Tensor dx);

 private:
  Dropout dropout(const StepContext& step) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear conv_;
  LayerNorm norm_;
  Tensor windows_;            // [T,H*S]
  Tensor pre_;                // [T,H], dropped, before the activation
  Tensor sum_, output_, dx_;  // [T,H]
};

}  // namespace berth
