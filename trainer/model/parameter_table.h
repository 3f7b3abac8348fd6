#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

struct LoraOptions;
struct ModelConfig;

enum class Initial { kNormal, kZeros, kOnes };

// One parameter: its Hugging Face name, what other files call it, and how it is treated.
struct ParameterSpec {
  std::string name;
  std::vector<std::string> aliases{};
  std::vector<int64_t> shape;
  Initial initial = Initial::kNormal;
  bool decays = true;         // weight decay: matrices, not biases and LayerNorm
  bool is_head = false;       // may be missing from pretrained files
  bool is_adapter = false;    // LoRA's: is missing from pretrained files
  bool trains = true;         // has a gradient
  bool is_looked_up = false;  // a table of which only the rows of a batch's ids have a gradient
  bool is_product = false;    // a matrix whose gradient of a batch is one product
  // 0 for embeddings, 1 for the first layer, ... and 1 more than the last layer's for the head.
  // Does not decrease along the table, but for adapters, which stand behind all layers.
  int64_t depth = 0;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
  int64_t columns() const { return shape.empty() || shape[0] == 0 ? 0 : elements() / shape[0]; }
};

// THE table: every parameter of the encoder and of the config's task, in arena order; those that
// layers share once. Query, key and value of a layer stand next to each other, so that one product
// computes all three.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config);
// With LoRA's adapters before the head; only these and the head train.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config, const LoraOptions& lora);

}  // namespace berth
