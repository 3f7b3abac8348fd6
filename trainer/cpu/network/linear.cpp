#include "trainer/cpu/network/linear.h"

namespace berth {

void Linear::backward(Kernels& kernels, Tensor dy, Tensor x, Tensor dx, Into into) const {
  kernels.linear_backward(dy, x, weight.weight(), dx, into, gradients());
  weight.take_product(kernels, dy, x);
}

void Linear::activation_backward(Kernels& kernels, Tensor dy, Tensor pre, Activation activation,
                                 Tensor x, Tensor dx, Into into) const {
  kernels.activation_backward(pre, activation, dy);
  kernels.linear_backward(dy, x, weight.weight(), dx, into, gradients());
  weight.take_product(kernels, dy, x);
}

LinearGradients Linear::gradients() const {
  return {weight.gradient().as_matrix(), bias.gradient(),
          weight.form() == GradientForm::kWhole ? Into::kOverwrite : Into::kAdd};
}

}  // namespace berth
