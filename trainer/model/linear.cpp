#include "trainer/model/linear.h"

#include "storage/base/error.h"

namespace berth {
namespace {

void keep_factors(Kernels& kernels, Tensor dy, Tensor x, FactoredParameter& factored) {
  if (factored.tokens) throw Error(Code::kInternal, "a factored gradient was made twice");
  factored.tokens = dy.rows();
  const FactoredGradient kept = factored.gradient();
  kernels.convert(dy, kept.dy);
  kernels.convert(x, kept.x);
}

}  // namespace

Linear::Linear(Parameters& parameters, Kernels& kernels, const std::string& name, int count)
    : factored(parameters.factored(name + ".weight", count)),
      weight(kernels.make_weight(parameters.value(name + ".weight", count).as_matrix(),
                                 factored != nullptr ? WeightForm::kMaster : WeightForm::kPacked)),
      bias(parameters.value(name + ".bias", count)),
      dweight(parameters.gradient(name + ".weight", count).as_matrix()),
      dbias(parameters.gradient(name + ".bias", count)) {}

void Linear::backward(Kernels& kernels, Tensor dy, Tensor x, Tensor dx, Into into) const {
  kernels.linear_backward(dy, x, *weight, dx, into, dweight, dbias);
  if (factored != nullptr) keep_factors(kernels, dy, x, *factored);
}

void Linear::activation_backward(Kernels& kernels, Tensor dy, Tensor pre, Activation activation,
                                 Tensor x, Tensor dx, Into into) const {
  kernels.linear_activation_backward(dy, pre, activation, x, *weight, dx, into, dweight, dbias);
  if (factored != nullptr) keep_factors(kernels, dy, x, *factored);
}

}  // namespace berth
