#include "trainer/cpu/network/linear.h"

namespace berth {

Linear::Linear(Parameters& parameters, const std::string& name, int count)
    : weight(parameters.factor(name + ".weight", count)),
      bias(parameters.has(name + ".bias") ? &parameters.parameter(name + ".bias", count)
                                          : nullptr) {}

void Linear::backward(Kernels& kernels, ConstTensor dy, ConstTensor x, Tensor dx, Into into) const {
  kernels.linear_backward(dy, x, weight.weight(), dx, into, gradients());
  weight.take_product(kernels, dy, x);
}

void Linear::activation_backward(Kernels& kernels, Tensor dy, const Preactivation& pre,
                                 ConstTensor x, Tensor dx, Into into) const {
  kernels.activation_backward(pre.values, pre.activation, dy);
  backward(kernels, dy, x, dx, into);
}

LinearGradients Linear::gradients() const {
  return {weight.gradient().as_matrix(), bias != nullptr ? bias->gradient() : Tensor(),
          weight.form() == GradientForm::kWhole ? Into::kOverwrite : Into::kAdd};
}

}  // namespace berth
