#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/kernels/kernels.h"

namespace berth {

// The architecture, named as Hugging Face's config.json names it.
struct ModelConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t intermediate_size = 0;
  int64_t max_position_embeddings = 0;
  int64_t type_vocab_size = 2;
  int64_t pad_token_id = 0;
  Activation hidden_act = Activation::kGelu;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::optional<double> classifier_dropout{};  // absent: hidden_dropout_prob
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;

  // id2label, by id. Empty: the file names none.
  std::vector<std::string> labels{};

  // The text it was parsed from; keys that berth does not use are written back with it.
  std::string source_json{};

  int64_t head_size() const { return hidden_size / num_attention_heads; }
  double head_dropout() const { return classifier_dropout.value_or(hidden_dropout_prob); }
};

// Parses a config.json or bert_config.json. Throws kUsage, naming the key, when one is missing, out
// of range or asks for what berth does not compute; kCorrupt when it is not JSON.
ModelConfig parse_config(std::string_view json_text);

// config.json of a sequence classifier, as transformers reads it.
std::string to_config_json(const ModelConfig& config);

}  // namespace berth
