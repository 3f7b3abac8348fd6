#include "trainer/model/config_keys.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct ActivationName {
  std::string_view name;
  Activation activation;
};
// The first name of each activation is the one that is written.
constexpr ActivationName kActivations[] = {
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"tanh", Activation::kTanh},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
};

}  // namespace

void refuse_key(const std::string& key, const std::string& what) {
  throw Error(Code::kUsage, quoted(key) + " " + what);
}

std::string_view activation_name(Activation activation) {
  for (const ActivationName& known : kActivations) {
    if (known.activation == activation) return known.name;
  }
  return "";
}

const Json* ConfigReader::find(const char* key) const { return JsonObject(object_).find(key); }

int64_t ConfigReader::integer(const char* key, int64_t low, int64_t high,
                              std::optional<int64_t> fallback) const {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) refuse_key(key, "is missing");
    return *fallback;
  }
  if (!value->is_number_integer() || *value < low || *value > high) {
    refuse_key(key, cat("must be an integer from ", low, " to ", high, ", not ", to_text(*value)));
  }
  return value->get<int64_t>();
}

std::optional<double> ConfigReader::number(const char* key, double low, double high) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(*value >= low) || !(*value <= high)) {
    refuse_key(key, cat("must be a number from ", low, " to ", high, ", not ", to_text(*value)));
  }
  return value->get<double>();
}

std::string ConfigReader::text(const char* key, const std::string& fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) refuse_key(key, "must be a string, not " + to_text(*value));
  return value->get<std::string>();
}

bool ConfigReader::flag(const char* key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse_key(key, "must be true or false, not " + to_text(*value));
  return value->get<bool>();
}

Activation ConfigReader::activation(const char* key, const char* fallback) const {
  const std::string name = text(key, fallback);
  for (const ActivationName& known : kActivations) {
    if (known.name == name) return known.activation;
  }
  refuse_key(key, "is " + quoted(name) + "; known are gelu, gelu_new, relu, tanh and silu");
}

std::string ConfigReader::json(const char* key) const {
  const Json* value = find(key);
  return value == nullptr ? "" : to_text(*value);
}

namespace {

constexpr std::string_view kReadKeys =
    "activation activation_function architectures attention_bias attention_dropout "
    "attention_head_size attention_probs_dropout_prob attn_pdrop causal classifier_activation "
    "classifier_bias classifier_dropout classifier_dropout_prob classifier_pooling cls_dropout "
    "conv_act conv_groups conv_kernel_size decoder_bias dim dropout embd_pdrop embedding_dropout "
    "embedding_size global_attn_every_n_layers global_rope_theta head_dim hidden_act "
    "hidden_activation hidden_dim hidden_dropout_prob hidden_size id2label "
    "initializer_cutoff_factor initializer_range inner_group_num intermediate_size is_decoder "
    "label2id label_thresholds layer_norm_eps layer_norm_epsilon layer_types local_attention "
    "local_rope_theta max_position_embeddings max_relative_positions mlp_bias mlp_dropout "
    "mlp_fc1_bias mlp_fc2_bias model_type moe_every_n_layers n_embd n_head n_heads n_inner "
    "n_layer n_layers n_positions norm_bias norm_eps norm_mlp norm_rel_ebd num_attention_heads "
    "num_heads_kv num_hidden_groups num_hidden_layers num_labels pad_token_id "
    "pad_vocab_size_multiple parallel_block pooler_dropout pooler_hidden_act pooler_hidden_size "
    "pos_att_type position_biased_input position_buckets position_embedding_type prenorm "
    "problem_type qa_dropout qkv_proj_bias relative_attention relative_attention_num_buckets "
    "resid_pdrop rope_parameters rope_scaling rope_theta rotary_emb_base rotary_emb_fraction "
    "rotary_emb_interleaved rotary_emb_scale_base rotary_scaling_factor rotary_value "
    "sbert_ce_default_activation_function sentence_transformers seq_classif_dropout "
    "share_att_key sliding_window summary_last_dropout task_type_vocab_size tie_word_embeddings "
    "tokenizer_class type_vocab_size use_rms_norm use_task_id vocab_size";

// The ids of special tokens are the tokenizer's. The keys of generation and of output do not
// concern an encoder. No program reads the keys for the poolers of 2018.
constexpr std::string_view kHarmlessKeys =
    "_attn_implementation _attn_implementation_autoset _commit_hash _name_or_path _num_labels "
    "attn_implementation auto_map backbone bad_words_ids begin_suppress_tokens bos_token_id "
    "chunk_size_feed_forward cls_token_id custom_pipelines decoder_start_token_id "
    "dense_seq_output deterministic_flash_attn directionality diversity_penalty do_sample "
    "down_scale_factor dtype early_stopping encoder_no_repeat_ngram_size eos_token_id "
    "expert_choice_router exponential_decay_length_penalty ffn_div finetuning_task "
    "forced_bos_token_id forced_eos_token_id fused_bias_fc fused_dropout_add_ln gap_size "
    "generator_hidden_size gradient_checkpointing is_composition language last_layer_subset "
    "layerdrop length_penalty mask_token_id max_length max_trained_positions min_length "
    "model_max_length moe_impl moe_normalize_expert_weights moe_resid_pdrop moe_top_k name "
    "no_repeat_ngram_size num_beam_groups num_beams num_experts num_memory_blocks "
    "num_return_sequences output_attentions output_hidden_states output_past output_scores "
    "pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head "
    "pooler_type prefix reference_compile remove_invalid_values reorder_and_upcast_attn "
    "repad_logits_with_grad repetition_penalty return_dict return_dict_in_generate "
    "router_aux_loss_coef scale_attn_by_inverse_layer_idx scale_attn_weights sep_token_id "
    "sparse_pred_ignore_index sparse_prediction summary_first_dropout summary_proj_to_labels "
    "suppress_tokens task_specific_params temperature tf_legacy_loss tie_encoder_decoder "
    "tie_weights_ top_k top_p torch_dtype torchscript transformers.js_config "
    "transformers_version typical_p unk_token_id use_bfloat16 use_cache use_flash_attn "
    "use_return_dict use_xentropy xla_device";

constexpr KnownKey kFixedKeys[] = {
    {"add_cross_attention", KeyUse::kFixed, R"([false])"},
    {"compression_config", KeyUse::kFixed, R"([])"},
    {"cross_attention_hidden_size", KeyUse::kFixed, R"([])"},
    {"is_encoder_decoder", KeyUse::kFixed, R"([false])"},
    {"legacy", KeyUse::kFixed, R"([true])"},
    {"net_structure_type", KeyUse::kFixed, R"([0])"},
    {"per_layer_config", KeyUse::kFixed, R"([{}])"},
    {"pruned_heads", KeyUse::kFixed, R"([{}])"},
    {"quantization_config", KeyUse::kFixed, R"([])"},
    {"sinusoidal_pos_embds", KeyUse::kFixed, R"([false])"},
    {"summary_activation", KeyUse::kFixed, R"(["gelu"])"},
    {"summary_type", KeyUse::kFixed, R"(["first"])"},
    {"summary_use_proj", KeyUse::kFixed, R"([true])"},
};

}  // namespace

std::span<const KnownKey> config_keys() {
  static const std::vector<KnownKey> keys = known_keys(kReadKeys, kHarmlessKeys, kFixedKeys);
  return keys;
}

}  // namespace berth
