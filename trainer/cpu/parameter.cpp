#include "trainer/cpu/parameter.h"

#include "storage/base/error.h"

namespace berth {

void Parameter::take_product(Kernels& kernels, Tensor dy, Tensor x) {
  if (!keeps_product()) return;
  if (tokens_) throw Error(Code::kInternal, "the gradient of an update was made twice");
  tokens_ = dy.rows();
  if (form_ != GradientForm::kFactored) return;
  const FactoredGradient kept = factors();
  kernels.convert(dy, kept.dy);
  kernels.convert(x, kept.x);
}

FactoredGradient Parameter::factors() const {
  return {factors_.dy.first(*tokens_), factors_.x.first(*tokens_)};
}

}  // namespace berth
