#pragma once

#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// One dense layer: y = x w^T + bias. Copies share the parameters.
struct Linear {
  // The parameters `name`.weight and `name`.bias. `count` > 1 joins that many neighbours (query,
  // key, value) into one layer. A weight of three dimensions is taken as a matrix of as many rows.
  Linear(Parameters& parameters, const std::string& name, int count = 1)
      : weight(parameters.factor(name + ".weight", count)),
        bias(parameters.parameter(name + ".bias", count)) {}

  // Whether backward reads the x that forward was given.
  bool reads_input() const { return weight.trains(); }

  // As Kernels::linear_forward and linear_activation_forward.
  void forward(Kernels& kernels, Tensor x, Tensor y) const {
    kernels.linear_forward(x, weight.weight(), bias.value(), y);
  }
  void activation_forward(Kernels& kernels, Tensor x, Activation activation, Tensor pre,
                          Tensor y) const {
    kernels.linear_activation_forward(x, weight.weight(), bias.value(), activation, pre, y);
  }
  // As Kernels::linear_backward, the second after Kernels::activation_backward. The gradients of
  // the parameters go to where these hold them.
  void backward(Kernels& kernels, Tensor dy, Tensor x, Tensor dx, Into into) const;
  void activation_backward(Kernels& kernels, Tensor dy, Tensor pre, Activation activation, Tensor x,
                           Tensor dx, Into into) const;

  Parameter& weight;
  Parameter& bias;

 private:
  LinearGradients gradients() const;
};

}  // namespace berth
