#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/dtype.h"

namespace berth {

struct LoraOptions;
struct ModelConfig;

// The initial values of a parameter. kNormal: normal, with a mean of 0.
enum class Initial { kNormal, kZeros, kOnes };

// One parameter: its name, its shape and how it is treated.
struct ParameterSpec {
  std::string name;                    // Hugging Face's
  std::vector<std::string> aliases{};  // names that it has in other files
  std::vector<int64_t> shape;
  Initial initial = Initial::kNormal;
  double deviation = 0;       // of normal values; 0: initializer_range
  double cutoff = 0;          // largest normal value, in deviations; 0: no limit
  bool decays = true;         // has weight decay: matrices do, biases and LayerNorm do not
  bool is_head = false;       // of the head or the generator; pretrained files may lack it
  bool is_adapter = false;    // belongs to LoRA's adapters; pretrained files lack it
  bool trains = true;         // training changes it, so it has a gradient and moments
  bool is_looked_up = false;  // an embedding: a batch gives a gradient to the rows of its ids only
  bool is_product = false;    // a matrix whose gradient over a batch is one matrix product
  // 0 for embeddings, 1 for the first layer and so on; the head is one deeper than the last layer.
  // It never decreases along the table, except at the adapters, which stand behind all layers.
  int64_t depth = 0;

  int64_t elements() const { return element_count(shape); }
  int64_t columns() const { return shape.empty() || shape[0] == 0 ? 0 : elements() / shape[0]; }
};

// The table of all parameters, in the order in which an engine lays them out: of the encoder, of
// the head for the config's task, and of the generator, if there is one. Parameters that layers
// share occur once. Query, key and value of a layer stand next to each other, so that one matrix
// product computes all three.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config);
// The table of a training. LoRA's adapters, if any, stand before the head, and only the adapters
// and the head train. Parameters of a smaller depth than `first_depth` do not train, either. The
// parameters that train are always one end of the table.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config, const LoraOptions& lora,
                                           int64_t first_depth = 0);

}  // namespace berth
