#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/config.h"

namespace berth {

// Low-rank adaptation (Hu et al. 2021, arXiv:2106.09685) of some dense layers of every encoder
// layer: y = x W^T + b + alpha / rank * dropout(x) A^T B^T. Only A [rank,K], B [N,rank] and the
// head are trained; the encoder keeps its values. B is initialized with zeros, so that training
// begins with the output of the unchanged model.
struct LoraOptions {
  int64_t rank = 0;  // 0: there are no adapters, and the whole model is trained
  double alpha = 16;
  double dropout = 0;
  // The dense layers to adapt, as PEFT names them, separated by commas. Each is the name of a dense
  // layer or the end of one behind a '.'; "all-linear" stands for all. Empty: the architecture's
  // query and value, or the one matrix of query, key and value.
  std::string target_modules{};

  explicit operator bool() const { return rank > 0; }
  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

// The dense layers of an encoder layer. Where query, key and value are one matrix, that is kQuery.
// Where the two matrices of a gated layer are two parameters, kGate is the one that is activated.
enum class LayerPart : uint32_t {
  kQuery,
  kKey,
  kValue,
  kAttentionOutput,
  kIntermediate,
  kOutput,
  kGate
};

// A dense layer that is adapted.
struct LoraTarget {
  std::string name;  // without ".weight"
  LayerPart part;
  int64_t inputs, outputs;  // the width of each
  bool operator==(const LoraTarget&) const = default;
};
// The adapted dense layers of encoder layer `layer`, in the order of LayerPart. Throws kUsage,
// naming the modules that exist, where a target module does not.
std::vector<LoraTarget> lora_targets(const ModelConfig& config, const LoraOptions& lora,
                                     int64_t layer);

// Whether PEFT matches the module `name` with the entry `target` of target_modules.
bool is_target_module(const std::string& name, const std::string& target);

// The names of A and B in PEFT's files: "TARGET.lora_A.weight" and "TARGET.lora_B.weight".
std::string lora_a_name(const std::string& target);
std::string lora_b_name(const std::string& target);

}  // namespace berth
