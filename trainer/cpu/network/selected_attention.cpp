#include "trainer/cpu/network/selected_attention.h"

#include "trainer/model/part_names.h"

namespace berth {

SelectedAttention::SelectedAttention(const ModelConfig& config, int64_t layer, PositionBias* bias,
                                     Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      bias_(bias),
      q_linear_(parameters, layer_names(config, layer).query),
      kv_linear_(parameters, layer_names(config, layer).key, 2) {}

void SelectedAttention::allocate(Arena& arena, int64_t tokens, int64_t most_selected) {
  const int64_t hidden = config_.hidden_size;
  q_ = arena.make(DType::kF32, {most_selected, hidden});
  kv_ = arena.make(kernels_.product_dtype(), {tokens, 2 * hidden});
  log_sum_exp_ = arena.make(DType::kF32, {most_selected, config_.num_attention_heads});
}

AttentionInputs SelectedAttention::inputs(const StepContext& step, Tensor kv, Tensor selected,
                                          const Dropout& dropout) const {
  return {.qkv = kv,
          .q = q_.first(selected.rows()),
          .selected = selected,
          .cu_seqlens = step.batch.cu_seqlens,
          .num_heads = static_cast<int>(config_.num_attention_heads),
          .bias = bias_ ? bias_->inputs() : PositionBiasInputs(),
          .dropout = dropout};
}

void SelectedAttention::forward(const StepContext& step, Dropout dropout, Tensor x, Tensor selected,
                                Tensor selected_x, Tensor out, const LayerScratch& scratch) {
  const int64_t tokens = x.rows(), rows = selected.rows();
  const Tensor q = q_.first(rows), kept = kv_.first(tokens);
  const Tensor kv = keeps_as_computed() ? kept : scratch.wide_as(tokens, kv_.columns());
  q_linear_.forward(kernels_, selected_x, q);
  kv_linear_.forward(kernels_, x, kv);
  if (!keeps_as_computed()) kernels_.convert(kv, kept);
  kernels_.attention_forward(inputs(step, kv, selected, dropout), step.state, out,
                             log_sum_exp_.first(rows));
}

void SelectedAttention::backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x,
                                 Tensor selected, Tensor out, Tensor dselected_x, Tensor dx,
                                 const LayerScratch& scratch) {
  const int64_t tokens = x.rows(), rows = selected.rows(), hidden = x.columns();
  const Tensor kept = kv_.first(tokens);
  const Tensor kv = keeps_as_computed() ? kept : scratch.second_wide_as(tokens, kv_.columns());
  const Tensor dq = scratch.hidden.first(rows), dkv = scratch.wide_as(tokens, kv_.columns());
  if (!keeps_as_computed()) kernels_.convert(kept, kv);
  kernels_.attention_backward(
      dout, inputs(step, kv, selected, dropout), step.state, out, log_sum_exp_.first(rows),
      {.dqkv = dkv, .dq = dq, .dbias = bias_ ? bias_->gradient() : Tensor()});
  const Tensor selected_x = scratch.second_wide_as(rows, hidden);  // kv is no longer needed
  kernels_.gather_rows(x, selected, selected_x);
  q_linear_.backward(kernels_, dq, selected_x, dselected_x, Into::kAdd);
  kernels_.scatter_rows(dselected_x, selected, dx);
  kv_linear_.backward(kernels_, dkv, x, dx, Into::kAdd);
}

}  // namespace berth
