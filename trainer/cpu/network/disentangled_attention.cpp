#include "trainer/cpu/network/disentangled_attention.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

DisentangledAttention::DisentangledAttention(const ModelConfig& config, const LoraOptions& lora,
                                             int64_t layer, RelativePositions& positions,
                                             Parameters& parameters, Kernels& kernels)
    : config_(config),
      site_(layer_site(layer, LayerSite::kRelativePositions)),
      positions_(positions),
      kernels_(kernels),
      qk_linear_(parameters, kernels, layer_names(config, layer).query, 2) {
  for (const LayerPart part : {LayerPart::kQuery, LayerPart::kKey}) {
    auto adapter = make_adapter(config, lora, layer, part, parameters, kernels);
    if (!adapter) continue;
    adapters_.push_back({{.site = position_adapter_site(layer, part), .rows = DropoutRows::kTable},
                         std::move(*adapter)});
  }
}

void DisentangledAttention::allocate(Arena& arena) {
  position_qk_ =
      arena.make(kernels_.activation_dtype(), {positions_.most_rows(), 2 * config_.hidden_size});
  for (Adapted& each : adapters_) each.adapter.allocate(arena, positions_.most_rows());
}

RelativeRows DisentangledAttention::relative() const {
  return {.position_qk = position_qk_.first(positions_.num_rows()),
          .rows = positions_.row_of_distance()};
}

void DisentangledAttention::forward(const StepContext& step, Dropout dropout, Tensor qkv,
                                    Tensor out, Tensor log_sum_exp) {
  const Tensor dropped = positions_.dropped(step, site_);
  kernels_.linear_forward(dropped, *qk_linear_.weight, qk_linear_.bias, relative().position_qk);
  for (Adapted& each : adapters_) {
    each.adapter.forward(step, positions_.counted(each.dropout), dropped, relative().position_qk);
  }
  kernels_.disentangled_attention_forward(qkv, relative(), step.batch.cu_seqlens,
                                          static_cast<int>(config_.num_attention_heads), dropout,
                                          step.state, out, log_sum_exp);
}

void DisentangledAttention::backward(const StepContext& step, Dropout dropout, Tensor dout,
                                     Tensor qkv, Tensor out, Tensor log_sum_exp, Tensor dqkv) {
  const Tensor dposition_qk = positions_.dposition_qk(), dpositions = positions_.dpositions();
  kernels_.disentangled_attention_backward(
      dout, qkv, relative(), out, log_sum_exp, step.batch.cu_seqlens,
      static_cast<int>(config_.num_attention_heads), dropout, step.state, dqkv, dposition_qk);
  const Tensor dropped = positions_.dropped(step, site_);
  qk_linear_.backward(kernels_, dposition_qk, dropped, dpositions, Into::kOverwrite);
  for (Adapted& each : adapters_) {
    each.adapter.backward(step, positions_.counted(each.dropout), dropped, dposition_qk,
                          dpositions);
  }
  positions_.add_gradient(step, site_, dpositions);
}

void DisentangledAttention::refresh() {
  qk_linear_.refresh(kernels_);
  for (Adapted& each : adapters_) each.adapter.refresh();
}

}  // namespace berth
