#include "trainer/model/feed_forward.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {
FeedForward::FeedForward(const ModelConfig& config, int64_t layer, Parameters& parameters,
                         Kernels& kernels)
    : config_(config),
      layer_(layer),
      kernels_(kernels),
      intermediate_(parameters, kernels, layer_names(config, layer).intermediate),
      output_(parameters, kernels, layer_names(config, layer).output),
      norm_(parameters, layer_names(config, layer).output_norm) {}

FeedForward::FeedForward(const FeedForward& other, int64_t layer) : FeedForward(other) {
  layer_ = layer;
}

void FeedForward::allocate(Arena& arena, const BatchLimits& limits) {
  const DType dtype = kernels_.activation_dtype();
  pre_ = arena.make(dtype, {limits.tokens, config_.intermediate_size});
  activated_ = arena.make(dtype, {limits.tokens, config_.intermediate_size});
  sum_ = arena.make(dtype, {limits.tokens, config_.hidden_size});
  mean_ = arena.make(DType::kF32, {limits.tokens});
  rstd_ = arena.make(DType::kF32, {limits.tokens});
}

Dropout FeedForward::output_dropout(const StepContext& step) const {
  return step.dropout(config_.feed_forward_dropout(),
                      layer_site(layer_, LayerSite::kFeedForwardOutput));
}

void FeedForward::forward(const StepContext& step, Tensor x, Tensor y) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor activated = activated_.first(tokens), sum = sum_.first(tokens);
  kernels_.linear_activation_forward(x, *intermediate_.weight, intermediate_.bias,
                                     config_.hidden_act, pre_.first(tokens), activated);
  kernels_.linear_forward(activated, *output_.weight, output_.bias, sum);
  kernels_.add_layer_norm_forward(sum, x, output_dropout(step), step.state, norm_.gamma, norm_.beta,
                                  static_cast<float>(config_.layer_norm_eps), sum, y,
                                  mean_.first(tokens), rstd_.first(tokens));
}

void FeedForward::backward(const StepContext& step, Tensor x, Tensor d,
                           const BackwardScratch& scratch) {
  const int64_t tokens = step.batch.num_tokens;
  const Tensor doutput = scratch.hidden.first(tokens);
  const Tensor dactivated = scratch.wide_as(tokens, config_.intermediate_size);
  kernels_.add_layer_norm_backward(d, sum_.first(tokens), output_dropout(step), step.state,
                                   norm_.gamma, mean_.first(tokens), rstd_.first(tokens), doutput,
                                   /*dresidual=*/d, norm_.dgamma, norm_.dbeta);
  kernels_.linear_backward(doutput, activated_.first(tokens), *output_.weight, dactivated,
                           Into::kOverwrite, output_.dweight, output_.dbias);
  // The residual: d already holds its share.
  kernels_.linear_activation_backward(dactivated, pre_.first(tokens), config_.hidden_act, x,
                                      *intermediate_.weight, d, Into::kAdd, intermediate_.dweight,
                                      intermediate_.dbias);
}

void FeedForward::refresh() {
  kernels_.refresh(*intermediate_.weight);
  kernels_.refresh(*output_.weight);
}

}  // namespace berth
