#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/config.h"

namespace berth {

// What the larger DeBERTa-v2 have beside their first layer (He et al. 2020, arXiv:2006.03654, and
// its published code): neighbouring tokens see each other before attention mixes them.
//   y = layer_norm(layer(x) + activation(dropout(convolution(x))))
class Convolution {
 public:
  Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  // x: what the first layer was given; layer_output: what it made of it. Both [T,H], as is the
  // result, which is valid until the next forward.
  Tensor forward(const StepContext& step, Tensor x, Tensor layer_output);
  // d holds dy and becomes the gradient of layer_output.
  void backward(const StepContext& step, Tensor d, const LayerScratch& scratch);
  // Adds what the last backward left for x into dx, once the layer's own is there.
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
