#include "trainer/cpu/network/convolution.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

Convolution::Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      conv_(parameters, kernels, convolution_names(config).conv),
      norm_(parameters, convolution_names(config).norm) {}

void Convolution::allocate(Arena& arena, const BatchLimits& limits) {
  const DType dtype = kernels_.activation_dtype();
  windows_ = arena.make(dtype, {limits.tokens, config_.hidden_size * config_.conv_kernel_size});
  for (Tensor* tensor : {&pre_, &sum_, &output_, &dx_}) {
    *tensor = arena.make(dtype, {limits.tokens, config_.hidden_size});
  }
  mean_ = arena.make(DType::kF32, {limits.tokens});
  rstd_ = arena.make(DType::kF32, {limits.tokens});
}

Dropout Convolution::dropout(const StepContext& step) const {
  return step.dropout(config_.hidden_dropout_prob, kConvolutionSite);
}

Tensor Convolution::forward(const StepContext& step, Tensor x, Tensor layer_output) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor sum = sum_.first(tokens), output = output_.first(tokens);
  kernels_.convolution_forward(x, step.batch.cu_seqlens, *conv_.weight, conv_.bias, dropout(step),
                               config_.conv_act, step.state, windows_.first(tokens),
                               pre_.first(tokens), sum);
  kernels_.add_layer_norm_forward(sum, layer_output, {}, step.state, norm_.gamma, norm_.beta,
                                  static_cast<float>(config_.layer_norm_eps), sum, output,
                                  mean_.first(tokens), rstd_.first(tokens));
  return output;
}

void Convolution::backward(const StepContext& step, Tensor d, const LayerScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor dactivated = scratch.hidden.first(tokens);
  kernels_.add_layer_norm_backward(d, sum_.first(tokens), {}, step.state, norm_.gamma,
                                   mean_.first(tokens), rstd_.first(tokens), dactivated,
                                   /*dresidual=*/d, norm_.dgamma, norm_.dbeta);
  kernels_.convolution_backward(
      dactivated, pre_.first(tokens), windows_.first(tokens), step.batch.cu_seqlens, *conv_.weight,
      dropout(step), config_.conv_act, step.state, scratch.wide_as(tokens, windows_.columns()),
      dx_.first(tokens), conv_.dweight, conv_.dbias);
}

void Convolution::add_input_gradient(Tensor dx) { kernels_.add(dx_.first(dx.rows()), dx); }

void Convolution::refresh() { conv_.refresh(kernels_); }

}  // namespace berth
