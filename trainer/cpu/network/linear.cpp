#include "trainer/cpu/network/linear.h"

#include "storage/base/error.h"

namespace berth {

WeightUse weight_use(bool learns, GradientForm form) {
  if (!learns) return WeightUse::kInference;
  return form == GradientForm::kFactored ? WeightUse::kTrainingOfFewTokens : WeightUse::kTraining;
}

WeightUse weight_use(const Parameters& parameters, const ProductGradient* product) {
  return weight_use(static_cast<bool>(parameters.gradients()),
                    product != nullptr ? product->form : GradientForm::kSummed);
}

Linear::Linear(Parameters& parameters, Kernels& kernels, const std::string& name, int count)
    : product(parameters.product(name + ".weight", count)),
      weight(kernels.make_weight(parameters.value(name + ".weight", count).as_matrix(),
                                 weight_use(parameters, product))),
      bias(parameters.value(name + ".bias", count)),
      dweight(product == nullptr ? parameters.gradient(name + ".weight", count).as_matrix()
                                 : Tensor()),
      dbias(parameters.gradient(name + ".bias", count)) {}

void Linear::backward(Kernels& kernels, Tensor dy, Tensor x, Tensor dx, Into into) const {
  kernels.linear_backward(dy, x, *weight, dx, into, gradients());
  keep(kernels, dy, x);
}

void Linear::activation_backward(Kernels& kernels, Tensor dy, Tensor pre, Activation activation,
                                 Tensor x, Tensor dx, Into into) const {
  kernels.linear_activation_backward(dy, pre, activation, x, *weight, dx, into, gradients());
  keep(kernels, dy, x);
}

LinearGradients Linear::gradients() const {
  if (product == nullptr) return {dweight, dbias};
  return {product->whole, dbias, Into::kOverwrite};
}

void Linear::keep(Kernels& kernels, Tensor dy, Tensor x) const {
  if (product == nullptr) return;
  if (product->tokens) throw Error(Code::kInternal, "the gradient of an update was made twice");
  product->tokens = dy.rows();
  if (product->form != GradientForm::kFactored) return;
  const FactoredGradient kept = product->factors();
  kernels.convert(dy, kept.dy);
  kernels.convert(x, kept.x);
}

}  // namespace berth
