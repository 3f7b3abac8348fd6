#pragma once

#include <cstdint>

namespace berth {

// One number for each place that drops: part of the key of its random numbers, so never reused.
constexpr uint32_t kEmbeddingsSite = 0;
constexpr uint32_t kClassifierSite = 1;
constexpr uint32_t kFirstTokenSite = 2;  // before the head's dense layer
constexpr uint32_t kConvolutionSite = 3;

enum class LayerSite : uint32_t {
  kAttentionProbabilities,
  kAttentionOutput,
  kFeedForwardOutput,
  kRelativePositions
};
constexpr uint32_t layer_site(int64_t layer, LayerSite site) {
  return 16 + 4 * static_cast<uint32_t>(layer) + static_cast<uint32_t>(site);
}

// Of LoRA's adapters: their place among query, key and value; of positions' queries, the next.
constexpr uint32_t kAdapterOfPositions = 3;
constexpr uint32_t adapter_site(int64_t layer, uint32_t place) {
  return 0x40000000 + 4 * static_cast<uint32_t>(layer) + place;
}

}  // namespace berth
