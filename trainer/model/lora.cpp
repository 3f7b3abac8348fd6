#include "trainer/model/lora.h"

#include <algorithm>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

constexpr std::string_view kAllLinear = "all-linear";

std::vector<LoraTarget> dense_layers(const ModelConfig& config, int64_t layer) {
  const LayerNames names = layer_names(config, layer);
  const int64_t hidden = config.hidden_size, wide = config.intermediate_size;
  const int64_t inner = config.is_gated && names.gate.empty() ? 2 * wide : wide;
  std::vector<LoraTarget> layers;
  if (!names.qkv.empty()) {
    layers.push_back({names.qkv, LayerPart::kQuery, hidden, 3 * hidden});
  } else {
    layers.push_back({names.query, LayerPart::kQuery, hidden, hidden});
    layers.push_back({names.key, LayerPart::kKey, hidden, hidden});
    layers.push_back({names.value, LayerPart::kValue, hidden, hidden});
  }
  layers.push_back({names.attention_output, LayerPart::kAttentionOutput, hidden, hidden});
  layers.push_back({names.intermediate, LayerPart::kIntermediate, hidden, inner});
  layers.push_back({names.output, LayerPart::kOutput, wide, hidden});
  if (!names.gate.empty()) layers.push_back({names.gate, LayerPart::kGate, hidden, wide});
  return layers;
}

// The names of a layer's dense layers for messages: "query, key, value, attention.output.dense,
// ...". The names begin after the layer's number.
std::string shown(const std::vector<LoraTarget>& layers) {
  const std::string& first = layers.front().name;
  const size_t common =
      static_cast<size_t>(std::mismatch(first.begin(), first.end(), layers.back().name.begin(),
                                        layers.back().name.end())
                              .first -
                          first.begin());
  const size_t prefix = first.rfind('.', common) + 1;
  return joined(layers, ", ", [&](const LoraTarget& each) { return each.name.substr(prefix); });
}

}  // namespace

bool is_target_module(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

std::vector<LoraTarget> lora_targets(const ModelConfig& config, const LoraOptions& lora,
                                     int64_t layer) {
  const std::vector<LoraTarget> all = dense_layers(config, layer);
  if (lora.target_modules == kAllLinear) return all;
  const bool is_joined = !layer_names(config, layer).qkv.empty();
  if (lora.target_modules.empty() && is_joined) return {all[0]};
  if (lora.target_modules.empty()) return {all[0], all[2]};
  std::vector<bool> is_wanted(all.size());
  for (const std::string& target : parted(lora.target_modules, ", ")) {
    bool is_known = false;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!is_target_module(all[i].name, target)) continue;
      is_wanted[i] = is_known = true;
    }
    if (is_known) continue;
    throw Error(Code::kUsage, cat(quoted(target), " is not a dense layer of an encoder layer"),
                "--lora-target-modules", cat("there are ", shown(all), "; or all-linear"));
  }
  if (std::ranges::find(is_wanted, true) == is_wanted.end()) {
    throw Error(Code::kUsage, "names nothing", "--lora-target-modules");
  }
  std::vector<LoraTarget> targets;
  for (size_t i = 0; i < all.size(); ++i) {
    if (is_wanted[i]) targets.push_back(all[i]);
  }
  return targets;
}

std::string lora_a_name(const std::string& target) { return target + ".lora_A.weight"; }

std::string lora_b_name(const std::string& target) { return target + ".lora_B.weight"; }

}  // namespace berth
