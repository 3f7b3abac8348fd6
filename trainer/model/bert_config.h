#pragma once

#include <string>

namespace berth {

struct ModelConfig;

// bert_config.json as google-research/bert (albert's albert_config.json) and TF Model Garden read
// it: their keys alone, so labels and the epsilon of layer normalization (1e-12 there) are not in
// it. Their "gelu" is the tanh approximation; a model trained with the exact one is written as
// "gelu", too, as it is the closest they have.
std::string to_bert_config_json(const ModelConfig& config);

}  // namespace berth
