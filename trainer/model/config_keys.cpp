#include "trainer/model/config_keys.h"

#include <nlohmann/json.hpp>

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
    {"gelu", Activation::kGelu},          {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},          {"tanh", Activation::kTanh},
    {"silu", Activation::kSilu},          {"swish", Activation::kSilu},
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

constexpr KeyUse kRead = KeyUse::kRead, kHarmless = KeyUse::kHarmless, kFixed = KeyUse::kFixed;

// The ids of special tokens are the tokenizer's. The keys of generation and of output do not
// concern an encoder. No program reads the keys for the poolers of 2018.
constexpr KnownKey kConfigKeys[] = {
    {"_attn_implementation", kHarmless},
    {"_attn_implementation_autoset", kHarmless},
    {"_commit_hash", kHarmless},
    {"_name_or_path", kHarmless},
    {"_num_labels", kHarmless},
    {"activation", kRead},
    {"activation_function", kRead},
    {"add_cross_attention", kFixed, R"([false])"},
    {"architectures", kRead},
    {"attention_bias", kRead},
    {"attention_dropout", kRead},
    {"attention_head_size", kRead},
    {"attention_probs_dropout_prob", kRead},
    {"attn_implementation", kHarmless},
    {"attn_pdrop", kRead},
    {"auto_map", kHarmless},
    {"backbone", kHarmless},
    {"bad_words_ids", kHarmless},
    {"begin_suppress_tokens", kHarmless},
    {"bos_token_id", kHarmless},
    {"causal", kRead},
    {"chunk_size_feed_forward", kHarmless},
    {"classifier_activation", kRead},
    {"classifier_bias", kRead},
    {"classifier_dropout", kRead},
    {"classifier_dropout_prob", kRead},
    {"classifier_pooling", kRead},
    {"cls_dropout", kRead},
    {"cls_token_id", kHarmless},
    {"compression_config", kFixed, R"([])"},
    {"conv_act", kRead},
    {"conv_groups", kRead},
    {"conv_kernel_size", kRead},
    {"cross_attention_hidden_size", kFixed, R"([])"},
    {"custom_pipelines", kHarmless},
    {"decoder_bias", kRead},
    {"decoder_start_token_id", kHarmless},
    {"dense_seq_output", kHarmless},
    {"deterministic_flash_attn", kHarmless},
    {"dim", kRead},
    {"directionality", kHarmless},
    {"diversity_penalty", kHarmless},
    {"do_sample", kHarmless},
    {"down_scale_factor", kHarmless},
    {"dropout", kRead},
    {"dtype", kHarmless},
    {"early_stopping", kHarmless},
    {"embd_pdrop", kRead},
    {"embedding_dropout", kRead},
    {"embedding_size", kRead},
    {"encoder_no_repeat_ngram_size", kHarmless},
    {"eos_token_id", kHarmless},
    {"expert_choice_router", kHarmless},
    {"exponential_decay_length_penalty", kHarmless},
    {"ffn_div", kHarmless},
    {"finetuning_task", kHarmless},
    {"forced_bos_token_id", kHarmless},
    {"forced_eos_token_id", kHarmless},
    {"fused_bias_fc", kHarmless},
    {"fused_dropout_add_ln", kHarmless},
    {"gap_size", kHarmless},
    {"generator_hidden_size", kHarmless},
    {"global_attn_every_n_layers", kRead},
    {"global_rope_theta", kRead},
    {"gradient_checkpointing", kHarmless},
    {"head_dim", kRead},
    {"hidden_act", kRead},
    {"hidden_activation", kRead},
    {"hidden_dim", kRead},
    {"hidden_dropout_prob", kRead},
    {"hidden_size", kRead},
    {"id2label", kRead},
    {"initializer_cutoff_factor", kRead},
    {"initializer_range", kRead},
    {"inner_group_num", kRead},
    {"intermediate_size", kRead},
    {"is_composition", kHarmless},
    {"is_decoder", kRead},
    {"is_encoder_decoder", kFixed, R"([false])"},
    {"label2id", kRead},
    {"language", kHarmless},
    {"last_layer_subset", kHarmless},
    {"label_thresholds", kRead},
    {"layer_norm_eps", kRead},
    {"layer_norm_epsilon", kRead},
    {"layer_types", kRead},
    {"layerdrop", kHarmless},
    {"legacy", kFixed, R"([true])"},
    {"length_penalty", kHarmless},
    {"local_attention", kRead},
    {"local_rope_theta", kRead},
    {"mask_token_id", kHarmless},
    {"max_length", kHarmless},
    {"max_position_embeddings", kRead},
    {"max_relative_positions", kRead},
    {"max_trained_positions", kHarmless},
    {"min_length", kHarmless},
    {"mlp_bias", kRead},
    {"mlp_dropout", kRead},
    {"mlp_fc1_bias", kRead},
    {"mlp_fc2_bias", kRead},
    {"model_max_length", kHarmless},
    {"model_type", kRead},
    {"moe_every_n_layers", kRead},
    {"moe_impl", kHarmless},
    {"moe_normalize_expert_weights", kHarmless},
    {"moe_resid_pdrop", kHarmless},
    {"moe_top_k", kHarmless},
    {"n_embd", kRead},
    {"n_head", kRead},
    {"n_heads", kRead},
    {"n_inner", kRead},
    {"n_layer", kRead},
    {"n_layers", kRead},
    {"n_positions", kRead},
    {"name", kHarmless},
    {"net_structure_type", kFixed, R"([0])"},
    {"no_repeat_ngram_size", kHarmless},
    {"norm_bias", kRead},
    {"norm_eps", kRead},
    {"norm_mlp", kRead},
    {"norm_rel_ebd", kRead},
    {"num_attention_heads", kRead},
    {"num_beam_groups", kHarmless},
    {"num_beams", kHarmless},
    {"num_experts", kHarmless},
    {"num_heads_kv", kRead},
    {"num_hidden_groups", kRead},
    {"num_hidden_layers", kRead},
    {"num_labels", kRead},
    {"num_memory_blocks", kHarmless},
    {"num_return_sequences", kHarmless},
    {"output_attentions", kHarmless},
    {"output_hidden_states", kHarmless},
    {"output_past", kHarmless},
    {"output_scores", kHarmless},
    {"pad_token_id", kRead},
    {"pad_vocab_size_multiple", kRead},
    {"parallel_block", kRead},
    {"pooler_dropout", kRead},
    {"pooler_fc_size", kHarmless},
    {"pooler_hidden_act", kRead},
    {"pooler_hidden_size", kRead},
    {"pooler_num_attention_heads", kHarmless},
    {"pooler_num_fc_layers", kHarmless},
    {"pooler_size_per_head", kHarmless},
    {"pooler_type", kHarmless},
    {"pos_att_type", kRead},
    {"position_biased_input", kRead},
    {"position_buckets", kRead},
    {"position_embedding_type", kRead},
    {"prefix", kHarmless},
    {"prenorm", kRead},
    {"problem_type", kRead},
    {"pruned_heads", kFixed, R"([{}])"},
    {"qa_dropout", kRead},
    {"qkv_proj_bias", kRead},
    {"quantization_config", kFixed, R"([])"},
    {"reference_compile", kHarmless},
    {"relative_attention", kRead},
    {"relative_attention_num_buckets", kRead},
    {"remove_invalid_values", kHarmless},
    {"reorder_and_upcast_attn", kHarmless},
    {"repad_logits_with_grad", kHarmless},
    {"repetition_penalty", kHarmless},
    {"resid_pdrop", kRead},
    {"return_dict", kHarmless},
    {"return_dict_in_generate", kHarmless},
    {"rope_parameters", kRead},
    {"rope_scaling", kRead},
    {"rotary_emb_base", kRead},
    {"rotary_emb_fraction", kRead},
    {"rotary_emb_interleaved", kRead},
    {"rotary_emb_scale_base", kRead},
    {"rotary_scaling_factor", kRead},
    {"rotary_value", kRead},
    {"router_aux_loss_coef", kHarmless},
    {"sbert_ce_default_activation_function", kRead},
    {"scale_attn_by_inverse_layer_idx", kHarmless},
    {"scale_attn_weights", kHarmless},
    {"sentence_transformers", kRead},
    {"sep_token_id", kHarmless},
    {"seq_classif_dropout", kRead},
    {"share_att_key", kRead},
    {"sinusoidal_pos_embds", kFixed, R"([false])"},
    {"sliding_window", kRead},
    {"sparse_pred_ignore_index", kHarmless},
    {"sparse_prediction", kHarmless},
    {"summary_activation", kFixed, R"(["gelu"])"},
    {"summary_first_dropout", kHarmless},
    {"summary_last_dropout", kRead},
    {"summary_proj_to_labels", kHarmless},
    {"summary_type", kFixed, R"(["first"])"},
    {"summary_use_proj", kFixed, R"([true])"},
    {"suppress_tokens", kHarmless},
    {"task_specific_params", kHarmless},
    {"temperature", kHarmless},
    {"tf_legacy_loss", kHarmless},
    {"tie_encoder_decoder", kHarmless},
    {"tie_weights_", kHarmless},
    {"tie_word_embeddings", kRead},
    {"tokenizer_class", kRead},
    {"top_k", kHarmless},
    {"top_p", kHarmless},
    {"torch_dtype", kHarmless},
    {"torchscript", kHarmless},
    {"transformers.js_config", kHarmless},
    {"transformers_version", kHarmless},
    {"type_vocab_size", kRead},
    {"typical_p", kHarmless},
    {"unk_token_id", kHarmless},
    {"use_bfloat16", kHarmless},
    {"use_cache", kHarmless},
    {"use_flash_attn", kHarmless},
    {"use_return_dict", kHarmless},
    {"use_rms_norm", kRead},
    {"use_xentropy", kHarmless},
    {"vocab_size", kRead},
    {"xla_device", kHarmless},
};

}  // namespace

std::span<const KnownKey> config_keys() { return kConfigKeys; }

}  // namespace berth
