#pragma once

#include <string>

namespace berth {

struct ModelConfig;

// The text of bert_config.json (of albert_config.json for an ALBERT), as google-research/bert and
// TensorFlow's Model Garden read it. It holds their keys only, so it has no labels and no epsilon
// of layer normalization, which is 1e-12 there. Their "gelu" is the tanh approximation. A model
// that was trained with the exact GELU is written as "gelu" too, since they have nothing closer.
std::string to_bert_config_json(const ModelConfig& config);

}  // namespace berth
