#include "trainer/model/bert_config.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "trainer/model/config.h"

namespace berth {
namespace {

const char* google_name(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return "gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSilu:
      return "silu";
  }
  return "gelu";
}

}  // namespace

std::string to_bert_config_json(const ModelConfig& config) {
  OrderedJson object = {
      {"attention_probs_dropout_prob", config.attention_probs_dropout_prob},
      {"hidden_act", google_name(config.hidden_act)},
      {"hidden_dropout_prob", config.hidden_dropout_prob},
      {"hidden_size", config.hidden_size},
      {"initializer_range", config.initializer_range},
      {"intermediate_size", config.intermediate_size},
      {"max_position_embeddings", config.max_position_embeddings},
      {"num_attention_heads", config.num_attention_heads},
      {"num_hidden_layers", config.num_hidden_layers},
      {"type_vocab_size", config.type_vocab_size},
      {"vocab_size", config.vocab_size},
  };
  if (config.num_hidden_groups > 0) {
    object["embedding_size"] = config.embedding_width();
    object["num_hidden_groups"] = config.num_hidden_groups;
    object["inner_group_num"] = 1;
  }
  return to_text(object, 2) + "\n";
}

}  // namespace berth
