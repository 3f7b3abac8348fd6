#include "trainer/model/architecture.h"

#include <array>

namespace berth {
namespace {

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
          .masked_lm_head = kRobertaMaskedLmHead,
          .counts_from_padding = true};
}

// clang-format off
constexpr std::array kArchitectures = {
    Architecture{.type = ModelType::kBert, .title = "BERT", .model_type = "bert",
                 .class_prefix = "Bert", .prefix = "bert.", .has_tensorflow_names = true},
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
                 .feed_forward_dropout = nullptr, .has_tensorflow_names = true},
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
                           .final_norm = "final_norm"},
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
                 .keys = {.type_vocab_size = nullptr},
                 .defaults = {.pad_token_id = 1},
                 .parse = parse_mpnet,
                 .layer = {.query = "attention.attn.q", .key = "attention.attn.k",
                           .value = "attention.attn.v", .attention_output = "attention.attn.o",
                           .attention_norm = "attention.LayerNorm"},
                 .sequence_head = {.dense = "classifier.dense", .classifier = "classifier.out_proj",
                                   .drops_before_dense = true},
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
                 .masked_lm_head = {.norm = "cls.predictions.transform.layer_norm"},
                 .has_peft_names = false},
};
// clang-format on

constexpr bool is_in_order() {
  for (size_t i = 0; i < kArchitectures.size(); ++i) {
    if (kArchitectures[i].type != static_cast<ModelType>(i)) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& architecture(ModelType type) {
  return kArchitectures[static_cast<size_t>(type)];
}

std::string known_model_types() {
  std::string names;
  for (const Architecture& row : kArchitectures) {
    names.append(names.empty() ? "" : ", ").append(row.model_type);
  }
  return names;
}

}  // namespace berth
