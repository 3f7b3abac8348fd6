#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/config.h"

namespace berth {

// Low-rank adaptation (Hu et al. 2021, arXiv:2106.09685) of some dense layers of every encoder
// layer: y = x W^T + b + alpha / rank * dropout(x) A^T B^T. A [rank,K] and B [N,rank] learn, and
// the head; the encoder keeps its values. B begins as zeros, so that the model begins as it was.
struct LoraOptions {
  int64_t rank = 0;  // 0: none, the whole model learns
  double alpha = 16;
  double dropout = 0;
  // As PEFT names them, with commas: each is a dense layer's name or the end of it behind a '.';
  // "all-linear": all. Empty: query and value, as the architecture calls them.
  std::string target_modules{};

  explicit operator bool() const { return rank > 0; }
  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

// The dense layers of an encoder layer, in the order of its parameters.
enum class LayerPart : uint32_t { kQuery, kKey, kValue, kAttentionOutput, kIntermediate, kOutput };

// An adapted dense layer, without ".weight", from so many values to so many.
struct LoraTarget {
  std::string name;
  LayerPart part;
  int64_t inputs, outputs;
  bool operator==(const LoraTarget&) const = default;
};
// In the order of LayerPart. Throws kUsage, naming those that there are, where a target module is
// none.
std::vector<LoraTarget> lora_targets(const ModelConfig& config, const LoraOptions& lora,
                                     int64_t layer);

// Whether PEFT takes the module called `name` for `target`.
bool is_target_module(const std::string& name, const std::string& target);

// "NAME.lora_A.weight", as PEFT names them.
std::string lora_a_name(const std::string& target);
std::string lora_b_name(const std::string& target);

}  // namespace berth
