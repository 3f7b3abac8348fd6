#include "trainer/cpu/network/convolution.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

Convolution::Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      conv_(parameters, convolution_names(config).conv),
      norm_(parameters, convolution_names(config).norm, config.layer_norm_eps) {}

void Convolution::allocate(Arena& arena, const BatchLimits& limits) {
  windows_ =
      arena.make(DType::kF32, {limits.tokens, config_.hidden_size * config_.conv_kernel_size});
  for (Tensor* tensor : {&pre_, &sum_, &output_, &dx_}) {
    *tensor = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
  }
  norm_.allocate(arena, limits.tokens);
}

Dropout Convolution::dropout(const StepContext& step) const {
  return step.dropout(config_.hidden_dropout_prob, kConvolutionSite);
}

Tensor Convolution::forward(const StepContext& step, Tensor x, Tensor layer_output) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor windows = windows_.first(tokens), pre = pre_.first(tokens);
  const Tensor sum = sum_.first(tokens), output = output_.first(tokens);
  kernels_.unfold_windows(x, step.batch.cu_seqlens, windows);
  conv_.forward(kernels_, windows, pre);
  kernels_.dropout(pre, dropout(step), step.state, pre);
  kernels_.activation_forward(pre, config_.conv_act, sum);
  kernels_.add_layer_norm_forward(
      sum, layer_output, /*dropout=*/{}, step.state, norm_.parameters(),
      {.sum = sum, .y = output, .statistics = norm_.statistics(tokens)});
  return output;
}

void Convolution::backward(const StepContext& step, Tensor d, const LayerScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor windows = windows_.first(tokens), pre = pre_.first(tokens);
  const Tensor dactivated = scratch.hidden.first(tokens);
  const Tensor dwindows = scratch.wide_as(tokens, windows_.columns());
  kernels_.add_layer_norm_backward(
      d, norm_.normalized(sum_.first(tokens)), /*dropout=*/{}, step.state, norm_.parameters(),
      {.dx = dactivated, .dresidual = d, .parameters = norm_.gradients()});
  kernels_.activation_backward(pre, config_.conv_act, dactivated);
  kernels_.dropout(dactivated, dropout(step), step.state, dactivated);
  conv_.backward(kernels_, dactivated, windows, dwindows, Into::kOverwrite);
  kernels_.fold_windows(dwindows, step.batch.cu_seqlens, dx_.first(tokens));
}

void Convolution::add_input_gradient(Tensor dx) { kernels_.add(dx_.first(dx.rows()), dx); }

}  // namespace berth
