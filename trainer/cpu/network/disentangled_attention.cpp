#include "trainer/cpu/network/disentangled_attention.h"

#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {

DisentangledAttention::DisentangledAttention(const ModelConfig& config, const LoraOptions& lora,
                                             int64_t layer, RelativePositions& positions,
                                             Parameters& parameters, Kernels& kernels)
    : hidden_size_(config.hidden_size),
      site_(layer_site(layer, LayerSite::kRelativePositions)),
      positions_(positions),
      kernels_(kernels),
      qk_linear_(parameters, layer_names(config, layer).query, 2) {
  for (const LayerPart part : {LayerPart::kQuery, LayerPart::kKey}) {
    auto adapter = make_adapter(config, lora, layer, part, parameters, kernels);
    if (!adapter) continue;
    adapters_.push_back({{.site = position_adapter_site(layer, part), .rows = DropoutRows::kTable},
                         std::move(*adapter)});
  }
}

void DisentangledAttention::allocate(Arena& arena) {
  qk_ = arena.make(DType::kF32, {positions_.most_rows(), 2 * hidden_size_});
  for (Adapted& each : adapters_) each.adapter.allocate(arena, positions_.most_rows());
}

RelativePositionInputs DisentangledAttention::inputs() const {
  return {.qk = qk_.first(positions_.num_rows()), .rows = positions_.row_of_distance()};
}

RelativePositionInputs DisentangledAttention::forward(const StepContext& step) {
  const Tensor dropped = positions_.dropped(step, site_), qk = qk_.first(positions_.num_rows());
  qk_linear_.forward(kernels_, dropped, qk);
  for (Adapted& each : adapters_) {
    each.adapter.forward(step, positions_.counted(each.dropout), dropped, qk);
  }
  return inputs();
}

void DisentangledAttention::backward(const StepContext& step) {
  const Tensor dropped = positions_.dropped(step, site_), dpositions = positions_.dpositions();
  qk_linear_.backward(kernels_, dqk(), dropped, dpositions, Into::kOverwrite);
  for (Adapted& each : adapters_) {
    each.adapter.backward(step, positions_.counted(each.dropout), dropped, dqk(), dpositions);
  }
  positions_.add_gradient(step, site_, dpositions);
}

}  // namespace berth
