#include "trainer/cpu/network/feed_forward.h"

#include "trainer/cpu/network/residual_sum.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

namespace {

Linear joined_intermediate(Parameters& parameters, const LayerNames& names) {
  return names.gate.empty() ? Linear(parameters, names.intermediate)
                            : Linear(parameters, names.gate, 2);
}

}  // namespace

FeedForward::FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                         Parameters& parameters, Kernels& kernels)
    : config_(config),
      layer_(layer),
      kernels_(kernels),
      intermediate_(joined_intermediate(parameters, layer_names(config, layer))),
      output_(parameters, layer_names(config, layer).output),
      intermediate_adapter_(
          make_adapter(config, lora, layer, LayerPart::kIntermediate, parameters, kernels)),
      gate_adapter_(make_adapter(config, lora, layer, LayerPart::kGate, parameters, kernels)),
      output_adapter_(make_adapter(config, lora, layer, LayerPart::kOutput, parameters, kernels)),
      norm_(parameters, layer_names(config, layer).output_norm, config.layer_norm_eps) {}

FeedForward::FeedForward(const FeedForward& other, int64_t layer) : FeedForward(other) {
  layer_ = layer;
}

void FeedForward::allocate(Arena& arena, int64_t most_rows, const Tensor* sum_room) {
  pre_ = arena.make(kernels_.product_dtype(), {most_rows, inner_size()});
  sum_ = sum_room ? *sum_room : arena.make(DType::kF32, {most_rows, config_.hidden_size});
  norm_.allocate(arena, most_rows);
  for (auto* adapter : {&intermediate_adapter_, &gate_adapter_, &output_adapter_}) {
    if (*adapter) (*adapter)->allocate(arena, most_rows);
  }
}

Dropout FeedForward::output_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.feed_forward_dropout(),
                      layer_site(layer_, LayerSite::kFeedForwardOutput), selected);
}

// A model has either this dropout or the output's dropout, so they share a site.
Dropout FeedForward::inner_dropout(const StepContext& step, Tensor selected) const {
  return step.dropout(config_.mlp_dropout, layer_site(layer_, LayerSite::kFeedForwardOutput),
                      selected);
}

Dropout FeedForward::adapter_dropout(LayerPart part, Tensor selected) const {
  return {.site = adapter_site(layer_, part), .tokens = selected};
}

void FeedForward::activate(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                           const LayerScratch& scratch) {
  if (config_.is_gated) return activate_gated(step, x, selected, activated, scratch);
  const Tensor pre = pre_.first(x.rows());
  if (!intermediate_adapter_) {
    intermediate_.activation_forward(kernels_, x, config_.hidden_act, pre, activated);
    return;
  }
  intermediate_.forward(kernels_, x, activated);
  intermediate_adapter_->forward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                 activated);
  kernels_.activation_forward(activated, config_.hidden_act, activated, /*kept=*/pre);
}

void FeedForward::activate_gated(const StepContext& step, Tensor x, Tensor selected,
                                 Tensor activated, const LayerScratch& scratch) {
  const Tensor pre = pre_.first(x.rows());
  const Tensor sums = pre.dtype == DType::kF32 ? pre : scratch.wide_as(x.rows(), inner_size());
  intermediate_.forward(kernels_, x, sums);
  if (intermediate_adapter_) {
    intermediate_adapter_->forward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                   sums);
  }
  if (gate_adapter_) {
    gate_adapter_->forward(step, adapter_dropout(LayerPart::kGate, selected), x, sums);
  }
  kernels_.gated_activation_forward(sums, config_.hidden_act, activated, /*kept=*/pre);
  kernels_.dropout(activated, inner_dropout(step, selected), step.state, activated);
}

void FeedForward::forward(const StepContext& step, Tensor x, Tensor residual, Tensor selected,
                          Tensor y, const LayerScratch& scratch) {
  const int64_t rows = x.rows();
  const Tensor activated = scratch.second_wide_as(rows, config_.intermediate_size);
  const Tensor sum = sum_.first(rows);
  activate(step, x, selected, activated, scratch);
  output_.forward(kernels_, activated, sum);
  if (output_adapter_) {
    output_adapter_->forward(step, adapter_dropout(LayerPart::kOutput, selected), activated, sum);
  }
  const Dropout dropout = output_dropout(step, selected);
  ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.forward(sum, residual, y);
}

void FeedForward::recompute_output(Tensor y) {
  kernels_.layer_norm_recompute(norm_.normalized(sum_.first(y.rows())), norm_.parameters(), y);
}

void FeedForward::backward(const StepContext& step, Tensor x, Tensor selected, Tensor d,
                           Tensor dresidual, const LayerScratch& scratch) {
  const int64_t rows = x.rows(), width = config_.intermediate_size;
  const Tensor doutput = scratch.hidden.first(rows), pre = pre_.first(rows);
  const Dropout dropout = output_dropout(step, selected), inner = inner_dropout(step, selected);
  const Into into = ResidualSum{kernels_, step, norm_, dropout, config_.normalizes_first}.backward(
      d, sum_.first(rows), dresidual, doutput);
  // A gated one needs the first buffer for the gradient of `pre`, twice as wide.
  const Tensor halves = scratch.second_wide_as(2 * rows, width);
  const Tensor activated = halves.first(rows);
  const Tensor dactivated =
      config_.is_gated ? halves.slice(rows, rows) : scratch.wide_as(rows, width);
  if (output_.reads_input() || output_adapter_) {
    if (config_.is_gated) {
      kernels_.gated_activation_forward(pre, config_.hidden_act, activated);
      kernels_.dropout(activated, inner, step.state, activated);
    } else {
      kernels_.activation_forward(pre, config_.hidden_act, activated);
    }
  }
  output_.backward(kernels_, doutput, activated, dactivated, Into::kOverwrite);
  if (output_adapter_) {
    output_adapter_->backward(step, adapter_dropout(LayerPart::kOutput, selected), activated,
                              doutput, dactivated);
  }
  Tensor dpre = dactivated;
  if (config_.is_gated) {
    dpre = scratch.wide_as(rows, inner_size());
    kernels_.dropout(dactivated, inner, step.state, dactivated);
    kernels_.gated_activation_backward(pre, config_.hidden_act, dactivated, dpre);
    intermediate_.backward(kernels_, dpre, x, d, into);
  } else {
    intermediate_.activation_backward(kernels_, dpre, {pre, config_.hidden_act}, x, d, into);
  }
  if (intermediate_adapter_) {  // dpre now holds the gradient of `pre`
    intermediate_adapter_->backward(step, adapter_dropout(LayerPart::kIntermediate, selected), x,
                                    dpre, d);
  }
  if (gate_adapter_) {
    gate_adapter_->backward(step, adapter_dropout(LayerPart::kGate, selected), x, dpre, d);
  }
}

}  // namespace berth
