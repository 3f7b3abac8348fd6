#pragma once

#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// The input of an activation, as forward stored it.
struct Preactivation {
  ConstTensor values;
  Activation activation;
};

// One dense layer: y = x w^T + bias. Copies share the parameters.
struct Linear {
  // The parameters `name`.weight and, if there is one, `name`.bias. `count` > 1 joins that many
  // neighbours (query, key, value) into one layer. A weight of three dimensions is taken as a
  // matrix of as many rows.
  Linear(Parameters& parameters, const std::string& name, int count = 1);

  // Whether backward reads the x that forward was given.
  bool reads_input() const { return weight.trains(); }

  // As Kernels::linear_forward and linear_activation_forward.
  void forward(Kernels& kernels, ConstTensor x, Tensor y) const {
    kernels.linear_forward(x, weight.weight(), biases(), y);
  }
  void activation_forward(Kernels& kernels, ConstTensor x, Activation activation, Tensor pre,
                          Tensor y) const {
    kernels.linear_activation_forward(x, weight.weight(), biases(), activation, pre, y);
  }
  // As Kernels::linear_backward. The gradients of the parameters go where their handles hold them.
  void backward(Kernels& kernels, ConstTensor dy, ConstTensor x, Tensor dx, Into into) const;
  // The same for y = activation(x w^T + bias). Turns dy into the gradient of the preactivation.
  void activation_backward(Kernels& kernels, Tensor dy, const Preactivation& pre, ConstTensor x,
                           Tensor dx, Into into) const;

  Parameter& weight;
  Parameter* bias;  // null: there is none

 private:
  Tensor biases() const { return bias != nullptr ? bias->value() : Tensor(); }
  LinearGradients gradients() const;
};

}  // namespace berth
