#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/model/architecture.h"

namespace berth {
namespace {

constexpr int64_t kMany = 1 << 24;
constexpr double kLargestBase = 1e12;

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The flags of Nomic's code and their defaults.
void refuse_other_networks(const ConfigReader& read) {
  const auto refuse_if_true = [&read](const char* key, bool fallback, const char* what) {
    if (read.flag(key, fallback)) refuse_key(key, what);
  };
  refuse_if_true("prenorm", false, "is true; berth trains NomicBERT normalized after each half");
  refuse_if_true("parallel_block", false, "is true; berth does not train parallel blocks");
  refuse_if_true("use_rms_norm", false, "is true; berth trains layer normalization only");
  refuse_if_true("causal", false, "is true; berth trains encoders");
  refuse_if_true("norm_mlp", false, "is true; no published NomicBERT normalizes inside a gate");
  refuse_if_true("rotary_emb_interleaved", false, "is true; berth turns the halves of a head");
  for (const char* key : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) {
    refuse_if_true(key, true, "is not false; berth trains NomicBERT without these biases");
  }
  if (read.number("rotary_emb_fraction", 0, 1).value_or(0) != 1) {
    refuse_key("rotary_emb_fraction", "is not 1; berth turns whole heads");
  }
  for (const char* key : {"rotary_scaling_factor", "rotary_emb_scale_base"}) {
    if (!read.json(key).empty()) {
      refuse_key(key, "is set; berth does not scale rotary positions");
    }
  }
  if (read.integer("moe_every_n_layers", -1, 1024, 0) > 0) {
    refuse_key("moe_every_n_layers", "is set; berth does not train mixtures of experts");
  }
  if (const std::string activation = read.text("activation_function", "gelu_new");
      activation != "swiglu") {
    refuse_key("activation_function", "is " + quoted(activation) + "; known is swiglu");
  }
  const int64_t heads = read.integer("n_head", 1, 1 << 12);
  if (read.integer("num_heads_kv", 1, 1 << 12, heads) != heads) {
    refuse_key("num_heads_kv", "is not n_head; berth does not share keys between heads");
  }
}

}  // namespace

std::optional<std::string> nomic_config_for_transformers(const Json& object) {
  if (!object.contains("n_embd")) return std::nullopt;
  const ConfigReader read(object);
  refuse_other_networks(read);
  const int64_t hidden = read.integer("n_embd", 1, 1 << 16);
  const double embedding_dropout = read.number("embd_pdrop", 0, 0.99).value_or(0.1);
  OrderedJson made = {
      {"model_type", "nomic_bert"},
      {"vocab_size", rounded_up(read.integer("vocab_size", 1, kMany),
                                read.integer("pad_vocab_size_multiple", 1, 1 << 16, 1))},
      {"hidden_size", hidden},
      {"num_hidden_layers", read.integer("n_layer", 1, 1024)},
      {"num_attention_heads", read.integer("n_head", 1, 1 << 12)},
      // Nomic's code rounds this width up. Its default is 8/3 of the hidden size.
      {"intermediate_size", rounded_up(read.integer("n_inner", 1, 1 << 20, 8 * hidden / 3), 256)},
      {"hidden_act", "silu"},
      {"hidden_dropout_prob", read.number("resid_pdrop", 0, 0.99).value_or(0.1)},
      {"attention_probs_dropout_prob", read.number("attn_pdrop", 0, 0.99).value_or(0.1)},
      {"classifier_dropout",
       read.number("classifier_dropout", 0, 0.99).value_or(embedding_dropout)},
      {"max_position_embeddings", read.integer("n_positions", 1, kMany)},
      {"type_vocab_size", read.integer("type_vocab_size", 1, 1 << 16, 2)},
      {"initializer_range", read.number("initializer_range", 0, 10).value_or(0.02)},
      {"layer_norm_eps", read.number("layer_norm_epsilon", 1e-30, 1).value_or(1e-5)},
      {"pad_token_id", read.integer("pad_token_id", 0, kMany, 0)},
      {"rope_parameters",
       {{"rope_theta", read.number("rotary_emb_base", 1, kLargestBase).value_or(10000)},
        {"rope_type", "default"}}}};
  for (const char* kept :
       {"architectures", "id2label", "label2id", "problem_type", "tie_word_embeddings"}) {
    const auto found = object.find(kept);
    if (found != object.end() && !found->is_null()) made[kept] = OrderedJson(*found);
  }
  // Nomic's name of the class of masked language models.
  if (made.contains("architectures") &&
      made["architectures"] == OrderedJson::array({"NomicBertForPreTraining"})) {
    made["architectures"] = OrderedJson::array({"NomicBertForMaskedLM"});
  }
  return to_text(made);
}

void parse_nomic(const ConfigReader& read, ModelConfig& config) {
  config.is_gated = config.has_joined_qkv = true;
  config.has_attention_bias = config.has_mlp_bias = false;
  config.has_absolute_positions = false;
  if (config.head_size() % 2 != 0) {
    refuse_key("num_attention_heads", "gives heads of an odd size, which cannot be rotated");
  }
  if (read.integer("head_dim", 1, 1 << 16, config.head_size()) != config.head_size()) {
    refuse_key("head_dim", "is not hidden_size / num_attention_heads");
  }
  config.rope_theta = 1000;
  const auto rope = read.object().find("rope_parameters");
  if (rope == read.object().end() || !rope->is_object()) return;
  const ConfigReader parameters(*rope);
  if (const std::string type = parameters.text("rope_type", "default"); type != "default") {
    refuse_key("rope_parameters", "has the rope_type " + quoted(type) + "; known is default");
  }
  config.rope_theta = parameters.number("rope_theta", 1, kLargestBase).value_or(config.rope_theta);
}

}  // namespace berth
