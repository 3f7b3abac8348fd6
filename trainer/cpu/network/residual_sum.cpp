#include "trainer/cpu/network/residual_sum.h"

namespace berth {

void ResidualSum::forward(Tensor sum, Tensor residual, Tensor y) const {
  kernels.add_layer_norm_forward(sum, residual, dropout, step.state, norm.parameters(),
                                 {.sum = sum, .y = y, .statistics = norm.statistics(sum.rows())});
}

Into ResidualSum::backward(Tensor dy, Tensor sum, Tensor dresidual, Tensor doutput) const {
  if (!normalizes_first) {
    kernels.add_layer_norm_backward(
        dy, norm.normalized(sum), dropout, step.state, norm.parameters(),
        {.dx = doutput, .dresidual = dy, .parameters = norm.gradients()});
    return Into::kAdd;
  }
  kernels.layer_norm_backward(dy, norm.normalized(sum), norm.parameters(), dy, norm.gradients());
  kernels.add(dy, dresidual);
  kernels.dropout(dresidual, dropout, step.state, doutput);
  return Into::kOverwrite;
}

}  // namespace berth
