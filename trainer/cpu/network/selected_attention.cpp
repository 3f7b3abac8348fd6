#include "trainer/cpu/network/picked_attention.h"

#include "trainer/model/part_names.h"

namespace berth {

PickedAttention::PickedAttention(const ModelConfig& config, int64_t layer, PositionBias* bias,
                                 Parameters& parameters, Kernels& kernels)
    : config_(config),
      kernels_(kernels),
      bias_(bias),
      q_linear_(parameters, layer_names(config, layer).query),
      kv_linear_(parameters, layer_names(config, layer).key, 2) {}

void PickedAttention::allocate(Arena& arena, int64_t tokens, int64_t most_picked) {
  const int64_t hidden = config_.hidden_size;
  q_ = arena.make(DType::kF32, {most_picked, hidden});
  kv_ = arena.make(kernels_.product_dtype(), {tokens, 2 * hidden});
  log_sum_exp_ = arena.make(DType::kF32, {most_picked, config_.num_attention_heads});
}

AttentionInputs PickedAttention::inputs(const StepContext& step, Tensor kv, Tensor picked,
                                        const Dropout& dropout) const {
  return {.qkv = kv,
          .q = q_.first(picked.rows()),
          .picked = picked,
          .cu_seqlens = step.batch.cu_seqlens,
          .num_heads = static_cast<int>(config_.num_attention_heads),
          .bias = bias_ ? bias_->inputs() : PositionBiasInputs(),
          .dropout = dropout};
}

void PickedAttention::forward(const StepContext& step, Dropout dropout, Tensor x, Tensor picked,
                              Tensor picked_x, Tensor out, const LayerScratch& scratch) {
  const int64_t tokens = x.rows(), rows = picked.rows();
  const Tensor q = q_.first(rows), kept = kv_.first(tokens);
  const Tensor kv = keeps_as_computed() ? kept : scratch.wide_as(tokens, kv_.columns());
  q_linear_.forward(kernels_, picked_x, q);
  kv_linear_.forward(kernels_, x, kv);
  if (!keeps_as_computed()) kernels_.convert(kv, kept);
  kernels_.attention_forward(inputs(step, kv, picked, dropout), step.state, out,
                             log_sum_exp_.first(rows));
}

void PickedAttention::backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x,
                               Tensor picked, Tensor out, Tensor dpicked_x, Tensor dx,
                               const LayerScratch& scratch) {
  const int64_t tokens = x.rows(), rows = picked.rows(), hidden = x.columns();
  const Tensor kept = kv_.first(tokens);
  const Tensor kv = keeps_as_computed() ? kept : scratch.second_wide_as(tokens, kv_.columns());
  const Tensor dq = scratch.hidden.first(rows), dkv = scratch.wide_as(tokens, kv_.columns());
  if (!keeps_as_computed()) kernels_.convert(kept, kv);
  kernels_.attention_backward(
      dout, inputs(step, kv, picked, dropout), step.state, out, log_sum_exp_.first(rows),
      {.dqkv = dkv, .dq = dq, .dbias = bias_ ? bias_->gradient() : Tensor()});
  const Tensor picked_x = scratch.second_wide_as(rows, hidden);  // kv is no longer needed
  kernels_.gather_rows(x, picked, picked_x);
  q_linear_.backward(kernels_, dq, picked_x, dpicked_x, Into::kAdd);
  kernels_.scatter_rows(dpicked_x, picked, dx);
  kv_linear_.backward(kernels_, dkv, x, dx, Into::kAdd);
}

}  // namespace berth
