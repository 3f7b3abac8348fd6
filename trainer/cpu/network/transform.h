#pragma once

#include <string>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/config.h"

namespace berth {

// A dense layer in a head: y = norm(activation(dense(x))), all [R,H]. Borrows what it is made from.
class Transform {
 public:
  Transform(const ModelConfig& config, const std::string& dense, const std::string& norm,
            Activation activation, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, int64_t most_rows);
  // x must not change until backward.
  void forward(Tensor x, Tensor y);
  // Overwrites dy. dx may not be dy.
  void backward(Tensor dy, Tensor dx);

 private:
  const ModelConfig& config_;
  const Activation activation_;
  Kernels& kernels_;
  Linear dense_;
  LayerNorm norm_;
  Tensor x_;                // of the last forward
  Tensor pre_, activated_;  // [R,H]
};

}  // namespace berth
