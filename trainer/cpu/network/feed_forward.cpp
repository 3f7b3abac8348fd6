#include "trainer/cpu/network/feed_forward.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

FeedForward::FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                         Parameters& parameters, Kernels& kernels)
    : config_(config),
      layer_(layer),
      kernels_(kernels),
      intermediate_(parameters, layer_names(config, layer).intermediate),
      output_(parameters, layer_names(config, layer).output),
      intermediate_adapter_(
          make_adapter(config, lora, layer, LayerPart::kIntermediate, parameters, kernels)),
      output_adapter_(make_adapter(config, lora, layer, LayerPart::kOutput, parameters, kernels)),
      norm_(parameters, layer_names(config, layer).output_norm, config.layer_norm_eps) {}

FeedForward::FeedForward(const FeedForward& other, int64_t layer) : FeedForward(other) {
  layer_ = layer;
}

void FeedForward::allocate(Arena& arena, int64_t most_rows) {
  pre_ = arena.make(kernels_.product_dtype(), {most_rows, config_.intermediate_size});
  sum_ = arena.make(DType::kF32, {most_rows, config_.hidden_size});
  norm_.allocate(arena, most_rows);
  for (auto* adapter : {&intermediate_adapter_, &output_adapter_}) {
    if (*adapter) (*adapter)->allocate(arena, most_rows);
  }
}

Dropout FeedForward::output_dropout(const StepContext& step, Tensor picked) const {
  return step.dropout(config_.feed_forward_dropout(),
                      layer_site(layer_, LayerSite::kFeedForwardOutput), picked);
}

Dropout FeedForward::adapter_dropout(LayerPart part, Tensor picked) const {
  return {.site = adapter_site(layer_, part), .tokens = picked};
}

void FeedForward::activate(const StepContext& step, Tensor x, Tensor picked, Tensor pre,
                           Tensor activated) {
  if (!intermediate_adapter_) {
    intermediate_.activation_forward(kernels_, x, config_.hidden_act, pre, activated);
    return;
  }
  intermediate_.forward(kernels_, x, activated);
  intermediate_adapter_->forward(step, adapter_dropout(LayerPart::kIntermediate, picked), x,
                                 activated);
  kernels_.activation_forward(activated, config_.hidden_act, activated, /*kept=*/pre);
}

void FeedForward::forward(const StepContext& step, Tensor x, Tensor picked, Tensor y,
                          const LayerScratch& scratch) {
  const int64_t rows = x.rows();
  const Tensor activated = scratch.second_wide_as(rows, config_.intermediate_size);
  const Tensor sum = sum_.first(rows);
  activate(step, x, picked, pre_.first(rows), activated);
  output_.forward(kernels_, activated, sum);
  if (output_adapter_) {
    output_adapter_->forward(step, adapter_dropout(LayerPart::kOutput, picked), activated, sum);
  }
  kernels_.add_layer_norm_forward(sum, x, output_dropout(step, picked), step.state,
                                  norm_.parameters(),
                                  {.sum = sum, .y = y, .statistics = norm_.statistics(rows)});
}

void FeedForward::recompute_output(Tensor y) {
  kernels_.layer_norm_recompute(norm_.normalized(sum_.first(y.rows())), norm_.parameters(), y);
}

void FeedForward::backward(const StepContext& step, Tensor x, Tensor picked, Tensor d,
                           const LayerScratch& scratch) {
  const int64_t rows = x.rows();
  const Tensor doutput = scratch.hidden.first(rows);
  const Tensor dactivated = scratch.wide_as(rows, config_.intermediate_size);
  const Tensor activated = scratch.second_wide_as(rows, config_.intermediate_size);
  const Tensor pre = pre_.first(rows);
  kernels_.add_layer_norm_backward(
      d, norm_.normalized(sum_.first(rows)), output_dropout(step, picked), step.state,
      norm_.parameters(), {.dx = doutput, .dresidual = d, .parameters = norm_.gradients()});
  if (output_.reads_input() || output_adapter_) {
    kernels_.activation_forward(pre, config_.hidden_act, activated);
  }
  output_.backward(kernels_, doutput, activated, dactivated, Into::kOverwrite);
  if (output_adapter_) {
    output_adapter_->backward(step, adapter_dropout(LayerPart::kOutput, picked), activated, doutput,
                              dactivated);
  }
  // d already holds the gradient of the residual.
  intermediate_.activation_backward(kernels_, dactivated, {pre, config_.hidden_act}, x, d,
                                    Into::kAdd);
  if (intermediate_adapter_) {  // dactivated now holds the gradient of `pre`
    intermediate_adapter_->backward(step, adapter_dropout(LayerPart::kIntermediate, picked), x,
                                    dactivated, d);
  }
}

}  // namespace berth
