#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"

namespace berth {

// The end of both halves of an encoder layer, of R rows:
//   sum = residual + dropout(output); y = layer_norm(sum)
// Post-normalized layers (Vaswani et al. 2017, arXiv:1706.03762) take the input of the half as its
// residual. Pre-normalized ones (Xiong et al. 2020, arXiv:2002.04745) take the sum of the half
// before, and normalize for the half that follows.
struct ResidualSum {
  Kernels& kernels;
  const StepContext& step;
  const LayerNorm& norm;
  const Dropout& dropout;
  bool normalizes_first;

  // Replaces `sum`, which holds the output, with the sum.
  void forward(Tensor sum, Tensor residual, Tensor y) const;
  // dy is the gradient of y, and doutput becomes the gradient of the output. Post-normalized: dy
  // becomes the gradient of the residual, and the caller adds the gradient of the half's input to
  // it. Pre-normalized: the gradient is added to dresidual, and the caller may overwrite dy with
  // the gradient of the half's input. Returns which of the two the caller must do.
  Into backward(Tensor dy, Tensor sum, Tensor dresidual, Tensor doutput) const;
};

}  // namespace berth
