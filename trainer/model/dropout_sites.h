#pragma once

#include <cstdint>

#include "trainer/model/lora.h"

namespace berth {

// A number for each place in the network that applies dropout. It is part of the key of that
// place's random numbers, so no two places share one, and none may change: a resumed job needs the
// same.
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

// The inputs of LoRA's adapters. Each layer has two groups of four: query, key, value and the query
// of positions have the numbers 0 to 3. The other dense layers and the key of positions have the
// numbers 4 to 7. No architecture has both a gate and keys of positions, so these share a number.
constexpr uint32_t adapter_site(int64_t layer, uint32_t place) {
  return (place < 4 ? 0x40000000 : 0x50000000) + 4 * static_cast<uint32_t>(layer) + place % 4;
}
constexpr uint32_t adapter_site(int64_t layer, LayerPart part) {
  const auto place = static_cast<uint32_t>(part);
  return adapter_site(layer, part <= LayerPart::kValue ? place : place + 1);
}
constexpr uint32_t position_adapter_site(int64_t layer, LayerPart part) {
  return adapter_site(layer, part == LayerPart::kQuery ? 3u : 7u);
}

// The layer of a site; negative for a site beside the layers. The sites of one kind in successive
// layers differ by 4.
constexpr int64_t layer_of_site(uint32_t site) {
  const int64_t number = site & 0x0FFFFFFF;
  return (site == number ? number - 16 : number) >> 2;
}

}  // namespace berth
