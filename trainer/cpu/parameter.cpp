#include "trainer/cpu/parameter.h"

#include "storage/base/error.h"

namespace berth {

void Parameter::take_product(Kernels& kernels, ConstTensor dy, ConstTensor x) {
  if (!keeps_product()) return;
  if (tokens_) throw Error(Code::kInternal, "the gradient of an update was made twice");
  tokens_ = dy.rows();
  if (form_ != GradientForm::kFactored) return;
  kernels.convert(dy, kept_dy_.first(*tokens_));
  kernels.convert(x, kept_x_.first(*tokens_));
}

FactoredGradient Parameter::factors() const {
  return {kept_dy_.first(*tokens_), kept_x_.first(*tokens_)};
}

}  // namespace berth
