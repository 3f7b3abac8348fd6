#include "trainer/model/architecture.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Readers of keys, for `parse`. Each throws kUsage, naming the key, for a model that berth does not
// compute.

constexpr const char* kPublished = "; in every published DeBERTa-v2 and v3 it is";

// Refuses settings that berth does not support, because the model would silently be a different
// one.
void check_published(const ConfigReader& read, const ModelConfig& config) {
  for (const char* key : {"relative_attention", "share_att_key"}) {
    if (!read.flag(key, false)) refuse_key(key, cat("is not true", kPublished));
  }
  const std::string terms = read.json("pos_att_type");  // "p2c|c2p" or a list
  if (terms.find("c2p") == std::string::npos || terms.find("p2c") == std::string::npos) {
    refuse_key("pos_att_type", "does not name both p2c and c2p, as every published model does");
  }
  for (const char* key : {"embedding_size", "pooler_hidden_size"}) {
    if (read.integer(key, 1, 1 << 16, config.hidden_size) != config.hidden_size) {
      refuse_key(key, cat("is not hidden_size", kPublished));
    }
  }
  if (read.integer("attention_head_size", 1, 1 << 16, config.head_size()) != config.head_size()) {
    refuse_key("attention_head_size", cat("is not hidden_size / num_attention_heads", kPublished));
  }
}

// The convolution of DeBERTa-v2 xlarge and xxlarge has kernel size 3, GELU and one group.
void parse_convolution(const ConfigReader& read, ModelConfig& config) {
  config.conv_kernel_size = read.integer("conv_kernel_size", 0, 63, 0);
  if (config.conv_kernel_size == 0) return;
  if (config.conv_kernel_size % 2 == 0) {
    refuse_key("conv_kernel_size",
               cat("(", config.conv_kernel_size, ") must be odd, for a token to be in its middle"));
  }
  // The convolution reads the first layer's outputs for all tokens. The last layer computes its
  // outputs only for the tokens that the head reads, so the two must be different layers.
  if (config.num_hidden_layers < 2) {
    refuse_key("conv_kernel_size", "needs at least 2 layers (num_hidden_layers)");
  }
  if (read.integer("conv_groups", 1, 1 << 16, 1) != 1) {
    refuse_key("conv_groups", cat("is not 1", kPublished));
  }
  config.conv_act = read.activation("conv_act", "tanh");
}

// DeBERTa as it was published as v2 and v3. The sizes must be set already.
void parse_deberta(const ConfigReader& read, ModelConfig& config) {
  check_published(read, config);
  const std::string norm = read.text("norm_rel_ebd", "none");
  if (norm != "none" && norm != "layer_norm") {
    refuse_key("norm_rel_ebd", "is " + quoted(norm) + "; berth knows \"none\" and \"layer_norm\"");
  }
  config.normalizes_relative_positions = norm == "layer_norm";
  config.has_absolute_positions = read.flag("position_biased_input", true);
  config.max_relative_positions = read.integer("max_relative_positions", -1, 1 << 20, -1);
  if (config.max_relative_positions < 1) {
    config.max_relative_positions = config.max_position_embeddings;
  }
  config.position_buckets = std::max<int64_t>(0, read.integer("position_buckets", -1, 1 << 20, -1));
  const int64_t middle = config.position_buckets / 2;
  if (config.position_buckets > 0 && (middle < 2 || config.max_relative_positions < middle + 2)) {
    refuse_key("position_buckets",
               cat("(", config.position_buckets, ") must be 4 at least, and less than twice ",
                   "max_relative_positions (", config.max_relative_positions, ")"));
  }
  parse_convolution(read, config);
  config.pooler_act = read.activation("pooler_hidden_act", "gelu");
  config.context_pooler_dropout = read.number("pooler_dropout", 0, 0.99).value_or(0);
}

constexpr double kLargestTheta = 1e12;
constexpr const char* kLayerTypes = "layer_types";

// Which layers attend locally. transformers 5 lists all layers; before, every n-th was global.
std::vector<bool> local_layers(const ConfigReader& read, const Json& object, int64_t layers) {
  std::vector<bool> local(static_cast<size_t>(layers));
  const auto found = object.find(kLayerTypes);
  if (found == object.end() || found->is_null()) {
    const int64_t every = read.integer("global_attn_every_n_layers", 1, 1024, 3);
    for (size_t i = 0; i < local.size(); ++i) local[i] = static_cast<int64_t>(i) % every != 0;
    return local;
  }
  if (!found->is_array() || found->size() != local.size()) {
    refuse_key(kLayerTypes, cat("must list ", layers, " layers, as num_hidden_layers says"));
  }
  for (size_t i = 0; i < local.size(); ++i) {
    const Json& layer = (*found)[i];
    local[i] = layer == "sliding_attention";
    if (!local[i] && layer != "full_attention") {
      refuse_key(kLayerTypes, "names more than full_attention and sliding_attention");
    }
  }
  return local;
}

// The base of rotary positions under the older key. It counts where rope_parameters has no base.
double older_theta(const ConfigReader& read, const char* older_key, double fallback) {
  if (!read.json("rope_scaling").empty()) {
    refuse_key("rope_scaling", "is set; berth does not scale rotary positions");
  }
  return read.number(older_key, 1, kLargestTheta).value_or(fallback);
}

// The base in an object of rope_parameters, whose "rope_type" was "type" before transformers 5.
double theta_in(const Json& parameters, double fallback) {
  const ConfigReader read(parameters);
  const std::string type = read.text("rope_type", read.text("type", "default"));
  if (type != "default") {
    refuse_key("rope_parameters", "has the rope_type " + quoted(type) + "; known is default");
  }
  return read.number("rope_theta", 1, kLargestTheta).value_or(fallback);
}

// The base of rotary positions of one kind of layers.
double theta_of(const Json& object, const char* kind, const char* older_key, double fallback) {
  const double base = older_theta(ConfigReader(object), older_key, fallback);
  const auto all = object.find("rope_parameters");
  if (all == object.end() || !all->is_object()) return base;
  const auto found = all->find(kind);
  if (found == all->end() || !found->is_object()) return base;
  return theta_in(*found, base);
}

// ModernBERT (Warner et al. 2024, arXiv:2412.13663). The window and the bases of rotary positions
// are read under the names of transformers 4 and of transformers 5.
void parse_modernbert(const ConfigReader& read, ModelConfig& config) {
  const Json& object = read.object();
  config.is_gated = config.has_joined_qkv = true;
  config.has_absolute_positions = false;
  config.has_attention_bias = read.flag("attention_bias", false);
  config.has_mlp_bias = read.flag("mlp_bias", false);
  config.has_norm_bias = read.flag("norm_bias", false);
  config.has_classifier_bias = read.flag("classifier_bias", false);
  if (!read.flag("decoder_bias", true)) {
    refuse_key("decoder_bias", "is false; the masked-LM heads of berth have a bias");
  }
  if (config.head_size() % 2 != 0) {
    refuse_key("num_attention_heads", "gives heads of an odd size, which cannot be rotated");
  }
  const auto cutoff = object.find("initializer_cutoff_factor");
  const bool has_no_cutoff = cutoff != object.end() && cutoff->is_null();
  config.initializer_cutoff_factor =
      read.number("initializer_cutoff_factor", 0.1, 100).value_or(has_no_cutoff ? 3 : 2);
  const std::string pooling = read.text("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") {
    refuse_key("classifier_pooling", "is " + quoted(pooling) + "; known are cls and mean");
  }
  config.pools_mean = pooling == "mean";
  config.pooler_act = read.activation("classifier_activation", "gelu");
  config.local_attention = read.integer("local_attention", 2, 1 << 20, 128);
  // transformers 5 sets twice this key's value over the other's.
  const int64_t half = read.integer("sliding_window", 1, 1 << 19, config.local_attention / 2);
  if (half != config.local_attention / 2) config.local_attention = 2 * half;
  config.local_layers = local_layers(read, object, config.num_hidden_layers);
  config.rope_theta = theta_of(object, "full_attention", "global_rope_theta", 160000);
  // transformers 4 takes a local base of null as "the same".
  const auto local = object.find("local_rope_theta");
  const bool is_the_same = local != object.end() && local->is_null();
  config.local_rope_theta = theta_of(object, "sliding_attention", "local_rope_theta",
                                     is_the_same ? config.rope_theta : 10000);
}

// MPNet (Song et al. 2020, arXiv:2004.09297). transformers computes with these two numbers whatever
// the file says.
void parse_mpnet(const ConfigReader& read, ModelConfig& config) {
  constexpr int64_t kBuckets = 32, kPadding = 1;
  config.position_bias_buckets =
      read.integer("relative_attention_num_buckets", 1, 1 << 16, kBuckets);
  if (config.position_bias_buckets != kBuckets) {
    refuse_key("relative_attention_num_buckets",
               cat("is ", config.position_bias_buckets, "; MPNet has ", kBuckets));
  }
  if (config.pad_token_id != kPadding) {
    refuse_key("pad_token_id",
               cat("is ", config.pad_token_id, "; MPNet counts positions from ", kPadding));
  }
}

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

// The config.json of Nomic's own code has GPT-2's keys. Returns the text for transformers 5, and
// nullopt for any other `object`. Refuses what transformers' NomicBERT does not compute: biases,
// other gates, other rotary positions, layers that are normalized first or computed in parallel,
// mixtures of experts.
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
  // What both kinds of files have.
  for (const char* kept : {"architectures", "id2label", "label2id", "label_thresholds",
                           "problem_type", "tie_word_embeddings"}) {
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

// NomicBERT (Nussbaum et al. 2024, arXiv:2402.01613) under the keys of transformers 5.
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
  config.rope_theta = older_theta(read, "rope_theta", 1000);
  const auto rope = read.object().find("rope_parameters");
  if (rope == read.object().end() || !rope->is_object()) return;
  config.rope_theta = theta_in(*rope, config.rope_theta);
}

// RoFormer (Su et al. 2021, arXiv:2104.09864), whose values are not turned.
void parse_roformer(const ConfigReader& read, ModelConfig& config) {
  config.has_absolute_positions = false;
  config.rotary_turns_neighbours = true;
  config.rope_theta = 10000;
  if (config.head_size() % 2 != 0) {
    refuse_key("num_attention_heads", "gives heads of an odd size, which cannot be rotated");
  }
  if (read.flag("rotary_value", false)) {
    refuse_key("rotary_value", "is true; berth turns queries and keys");
  }
}

// ERNIE 3.0 (Sun et al. 2021, arXiv:2107.02137) has task types. transformers' task type is 0 unless
// a program gives another one.
void parse_ernie(const ConfigReader& read, ModelConfig& config) {
  if (!read.flag("use_task_id", false)) return;
  config.task_type_vocab_size = read.integer("task_type_vocab_size", 1, 1 << 16, 3);
}

constexpr HeadActivation kPoolerAct{.field = &ModelConfig::pooler_act};
constexpr HeadActivation kGeluAct{.fixed = Activation::kGelu};

constexpr MaskedLmHeadParts kRobertaMaskedLmHead{.dense = "lm_head.dense",
                                                 .norm = "lm_head.layer_norm",
                                                 .bias = "lm_head.bias",
                                                 .decoder = "lm_head.decoder",
                                                 .activation = kGeluAct};

// RoBERTa, or an architecture that differs from it in its names and in the tokenizer alone.
constexpr Architecture roberta(ModelType type, std::string_view title, std::string_view model_type,
                               std::string_view class_prefix,
                               std::string_view prefix = "roberta.") {
  return {.type = type,
          .title = title,
          .model_type = model_type,
          .class_prefix = class_prefix,
          .prefix = prefix,
          .defaults = {.pad_token_id = 1},
          .sequence_head = {.dense = "classifier.dense",
                            .classifier = "classifier.out_proj",
                            .drops_before_dense = true},
          .choice_head = ChoiceHead::kPooler,
          .masked_lm_head = kRobertaMaskedLmHead,
          .counts_from_padding = true};
}

// The same with layers that normalize first, whose norms these are.
constexpr Architecture normalized_first(Architecture row, const LayerParts& layer) {
  row.layer = layer;
  return row;
}

constexpr Architecture xlm_roberta_xl() {
  Architecture row = normalized_first(
      roberta(ModelType::kXlmRobertaXl, "XLM-RoBERTa-XL", "xlm-roberta-xl", "XLMRobertaXL"),
      {.attention_norm = "LayerNorm",
       .output_norm = "attention.self_attn_layer_norm",
       .final_norm = "encoder.LayerNorm"});
  row.defaults.layer_norm_eps = 1e-5;
  row.defaults.type_vocab_size = 1;
  row.embeddings.norm = nullptr;
  row.feed_forward_dropout = nullptr;
  return row;
}

// clang-format off
constexpr std::array kArchitectures = {
    Architecture{.type = ModelType::kBert, .title = "BERT", .model_type = "bert",
                 .class_prefix = "Bert", .prefix = "bert.", .has_tensorflow_names = true,
                 .next_sentence = "cls.seq_relationship"},
    roberta(ModelType::kRoberta, "RoBERTa", "roberta", "Roberta"),
    roberta(ModelType::kXlmRoberta, "XLM-RoBERTa", "xlm-roberta", "XLMRoberta"),
    roberta(ModelType::kCamembert, "CamemBERT", "camembert", "Camembert"),
    roberta(ModelType::kData2VecText, "data2vec", "data2vec-text", "Data2VecText",
            "data2vec_text."),
    Architecture{.type = ModelType::kDistilBert, .title = "DistilBERT", .model_type = "distilbert",
                 .class_prefix = "DistilBert", .prefix = "distilbert.",
                 .keys = {.hidden_size = "dim", .num_hidden_layers = "n_layers",
                          .num_attention_heads = "n_heads", .intermediate_size = "hidden_dim",
                          .hidden_act = "activation", .hidden_dropout_prob = "dropout",
                          .attention_probs_dropout_prob = "attention_dropout",
                          .classifier_dropout = "seq_classif_dropout", .type_vocab_size = nullptr,
                          .layer_norm_eps = nullptr, .qa_dropout = "qa_dropout"},
                 .defaults = {.classifier_dropout = 0.2},
                 .layer = {.layer = "transformer.layer.#.", .query = "attention.q_lin",
                           .key = "attention.k_lin", .value = "attention.v_lin",
                           .attention_output = "attention.out_lin",
                           .attention_norm = "sa_layer_norm", .intermediate = "ffn.lin1",
                           .output = "ffn.lin2", .output_norm = "output_layer_norm"},
                 .sequence_head = {.dense = "pre_classifier",
                                   .activation = {.fixed = Activation::kRelu}},
                 .masked_lm_head = {.dense = "vocab_transform", .norm = "vocab_layer_norm",
                                    .bias = "vocab_projector.bias", .decoder = "vocab_projector"},
                 .encoder_has_pooler = false, .has_sequence_dropout = true,
                 .attention_output_dropout = nullptr},
    Architecture{.type = ModelType::kElectra, .title = "ELECTRA", .model_type = "electra",
                 .class_prefix = "Electra", .prefix = "electra.",
                 .keys = {.embedding_size = "embedding_size"},
                 .sequence_head = {.dense = "classifier.dense", .classifier = "classifier.out_proj",
                                   .activation = kGeluAct, .drops_before_dense = true},
                 .choice_head = ChoiceHead::kSummary,
                 .masked_lm_head = {.dense = "generator_predictions.dense",
                                    .norm = "generator_predictions.LayerNorm",
                                    .bias = "generator_lm_head.bias",
                                    .decoder = "generator_lm_head", .activation = kGeluAct},
                 .encoder_has_pooler = false, .has_discriminator = true},
    Architecture{.type = ModelType::kAlbert, .title = "ALBERT", .model_type = "albert",
                 .class_prefix = "Albert", .prefix = "albert.",
                 .keys = {.classifier_dropout = "classifier_dropout_prob",
                          .embedding_size = "embedding_size",
                          .num_hidden_groups = "num_hidden_groups"},
                 .defaults = {.hidden_act = "gelu_new", .dropout = 0, .classifier_dropout = 0.1},
                 .embeddings = {.projection = "encoder.embedding_hidden_mapping_in",
                                .always_projects = true},
                 .layer = {.layer = "encoder.albert_layer_groups.#.albert_layers.0.",
                           .query = "attention.query", .key = "attention.key",
                           .value = "attention.value", .attention_output = "attention.dense",
                           .attention_norm = "attention.LayerNorm", .intermediate = "ffn",
                           .output = "ffn_output", .output_norm = "full_layer_layer_norm"},
                 .sequence_head = {.dense = "albert.pooler"},
                 .masked_lm_head = {.dense = "predictions.dense", .norm = "predictions.LayerNorm",
                                    .bias = "predictions.bias", .decoder = "predictions.decoder"},
                 .feed_forward_dropout = nullptr, .has_tensorflow_names = true,
                 .next_sentence = "sop_classifier.classifier", .drops_next_sentence = true},
    Architecture{.type = ModelType::kDebertaV2, .title = "DeBERTa", .model_type = "deberta-v2",
                 .class_prefix = "DebertaV2", .prefix = "deberta.",
                 .keys = {.classifier_dropout = "cls_dropout"},
                 .defaults = {.layer_norm_eps = 1e-7, .type_vocab_size = 0,
                              .least_type_vocab_size = 0},
                 .parse = parse_deberta,
                 .layer = {.query = "attention.self.query_proj", .key = "attention.self.key_proj",
                           .value = "attention.self.value_proj"},
                 .sequence_head = {.dense = "pooler.dense", .activation = kPoolerAct,
                                   .drops_before_dense = true},
                 .encoder_has_pooler = false, .has_sequence_dropout = true,
                 .pooler_dropout = &ModelConfig::context_pooler_dropout},
    Architecture{.type = ModelType::kModernBert, .title = "ModernBERT", .model_type = "modernbert",
                 .class_prefix = "ModernBert", .prefix = "model.",
                 .keys = {.hidden_act = "hidden_activation",
                          .hidden_dropout_prob = "embedding_dropout",
                          .attention_probs_dropout_prob = "attention_dropout",
                          .type_vocab_size = nullptr, .layer_norm_eps = "norm_eps",
                          .mlp_dropout = "mlp_dropout"},
                 .defaults = {.dropout = 0, .classifier_dropout = 0, .layer_norm_eps = 1e-5,
                              .pad_token_id = 50283},
                 .parse = parse_modernbert,
                 .embeddings = {.word = "embeddings.tok_embeddings", .norm = "embeddings.norm"},
                 .layer = {.layer = "layers.#.", .qkv = "attn.Wqkv", .attention_output = "attn.Wo",
                           .attention_norm = "mlp_norm", .intermediate = "mlp.Wi",
                           .output = "mlp.Wo", .output_norm = "attn_norm",
                           .final_norm = "final_norm", .first_normalizes = false},
                 .sequence_head = {.dense = "head.dense", .norm = "head.norm",
                                   .activation = kPoolerAct},
                 .masked_lm_head = {.dense = "head.dense", .norm = "head.norm",
                                    .bias = "decoder.bias", .decoder = "decoder",
                                    .activation = kPoolerAct},
                 .encoder_has_pooler = false, .transforms_tokens = true,
                 .attention_output_dropout = &ModelConfig::attention_probs_dropout_prob,
                 .feed_forward_dropout = nullptr, .initializes_by_depth = true},
    Architecture{.type = ModelType::kMpnet, .title = "MPNet", .model_type = "mpnet",
                 .class_prefix = "MPNet", .prefix = "mpnet.",
                 .keys = {.classifier_dropout = nullptr, .type_vocab_size = nullptr},
                 .defaults = {.pad_token_id = 1},
                 .parse = parse_mpnet,
                 .layer = {.query = "attention.attn.q", .key = "attention.attn.k",
                           .value = "attention.attn.v", .attention_output = "attention.attn.o",
                           .attention_norm = "attention.LayerNorm"},
                 .sequence_head = {.dense = "classifier.dense", .classifier = "classifier.out_proj",
                                   .drops_before_dense = true},
                 .choice_head = ChoiceHead::kPooler,
                 .masked_lm_head = kRobertaMaskedLmHead, .counts_from_padding = true},
    // The names of Nomic's own code, which transformers writes, too. That code has BERT's prefix.
    Architecture{.type = ModelType::kNomicBert, .title = "NomicBERT", .model_type = "nomic_bert",
                 .class_prefix = "NomicBert", .prefix = "nomic_bert.", .other_prefix = "bert.",
                 .translate = nomic_config_for_transformers,
                 .defaults = {.hidden_act = "silu", .dropout = 0},
                 .parse = parse_nomic,
                 .embeddings = {.norm = "emb_ln"},
                 .layer = {.layer = "encoder.layers.#.", .qkv = "attn.Wqkv",
                           .attention_output = "attn.out_proj", .attention_norm = "norm1",
                           .gate = "mlp.fc12", .intermediate = "mlp.fc11", .output = "mlp.fc2",
                           .output_norm = "norm2"},
                 .sequence_head = {.dense = "nomic_bert.pooler.dense"},
                 .choice_head = ChoiceHead::kNone,
                 .masked_lm_head = {.norm = "cls.predictions.transform.layer_norm"},
                 .has_peft_names = false},
    Architecture{.type = ModelType::kRoFormer, .title = "RoFormer", .model_type = "roformer",
                 .class_prefix = "RoFormer", .prefix = "roformer.",
                 .keys = {.classifier_dropout = nullptr, .embedding_size = "embedding_size"},
                 .defaults = {.embedding_size = 0},
                 .parse = parse_roformer,
                 .sequence_head = {.dense = "classifier.dense", .classifier = "classifier.out_proj",
                                   .activation = {.field = &ModelConfig::hidden_act},
                                   .drops_before_dense = true},
                 .choice_head = ChoiceHead::kNone,
                 .encoder_has_pooler = false},
    // BERT, normalized first (Shoeybi et al. 2019, arXiv:1909.08053).
    Architecture{.type = ModelType::kMegatronBert, .title = "MegatronBERT",
                 .model_type = "megatron-bert", .class_prefix = "MegatronBert", .prefix = "bert.",
                 .keys = {.classifier_dropout = nullptr},
                 .embeddings = {.norm = nullptr},
                 .layer = {.attention_norm = "ln", .output_norm = "attention.ln",
                           .final_norm = "encoder.ln"}},
    normalized_first(roberta(ModelType::kRobertaPreLayerNorm, "RoBERTa-PreLayerNorm",
                             "roberta-prelayernorm", "RobertaPreLayerNorm",
                             "roberta_prelayernorm."),
                     {.attention_norm = "intermediate.LayerNorm",
                      .output_norm = "attention.LayerNorm", .final_norm = "LayerNorm"}),
    xlm_roberta_xl(),
    Architecture{.type = ModelType::kErnie, .title = "ERNIE", .model_type = "ernie",
                 .class_prefix = "Ernie", .prefix = "ernie.", .parse = parse_ernie,
                 .sequence_head = {.dense = "ernie.pooler.dense"}},
};
// clang-format on

constexpr bool architectures_are_in_order() {
  for (size_t i = 0; i < kArchitectures.size(); ++i) {
    if (kArchitectures[i].type != static_cast<ModelType>(i)) return false;
  }
  return true;
}
static_assert(architectures_are_in_order());

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& architecture(ModelType type) {
  return kArchitectures[static_cast<size_t>(type)];
}

std::string known_model_types() { return joined(kArchitectures, ", ", &Architecture::model_type); }

}  // namespace berth
