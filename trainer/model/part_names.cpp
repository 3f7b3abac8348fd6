#include "trainer/model/part_names.h"

#include <utility>

#include "trainer/model/generator_config.h"

namespace berth {
namespace {

// What stands before the names of parts that a generator does not share.
std::string own_prefix(const ModelConfig& config) {
  return config.is_generator ? std::string(kGeneratorPrefix) : "";
}

// The names of BERT, RoBERTa and ELECTRA.
LayerNames bert_layer(const std::string& prefix) {
  return {.query = prefix + "attention.self.query",
          .key = prefix + "attention.self.key",
          .value = prefix + "attention.self.value",
          .attention_output = prefix + "attention.output.dense",
          .attention_norm = prefix + "attention.output.LayerNorm",
          .intermediate = prefix + "intermediate.dense",
          .output = prefix + "output.dense",
          .output_norm = prefix + "output.LayerNorm"};
}

LayerNames deberta_layer(const std::string& prefix) {
  LayerNames names = bert_layer(prefix);
  for (std::string* part : {&names.query, &names.key, &names.value}) *part += "_proj";
  return names;
}

LayerNames mpnet_layer(const std::string& prefix) {
  LayerNames names = bert_layer(prefix);
  names.query = prefix + "attention.attn.q";
  names.key = prefix + "attention.attn.k";
  names.value = prefix + "attention.attn.v";
  names.attention_output = prefix + "attention.attn.o";
  names.attention_norm = prefix + "attention.LayerNorm";
  return names;
}

LayerNames distilbert_layer(const std::string& prefix) {
  return {.query = prefix + "attention.q_lin",
          .key = prefix + "attention.k_lin",
          .value = prefix + "attention.v_lin",
          .attention_output = prefix + "attention.out_lin",
          .attention_norm = prefix + "sa_layer_norm",
          .intermediate = prefix + "ffn.lin1",
          .output = prefix + "ffn.lin2",
          .output_norm = prefix + "output_layer_norm"};
}

// A layer is normalized first, so the norm behind each of its halves is the one before the next.
LayerNames modernbert_layer(const ModelConfig& config, const std::string& base, int64_t layer) {
  const auto prefix = [&base](int64_t i) { return base + "layers." + std::to_string(i) + "."; };
  const std::string here = prefix(layer);
  const bool is_last = layer + 1 == config.num_hidden_layers;
  return {.qkv = here + "attn.Wqkv",
          .attention_output = here + "attn.Wo",
          .attention_norm = here + "mlp_norm",
          .intermediate = here + "mlp.Wi",
          .output = here + "mlp.Wo",
          .output_norm = is_last ? base + "final_norm" : prefix(layer + 1) + "attn_norm"};
}

// The names of Nomic's own code, which transformers writes, too.
LayerNames nomic_layer(const std::string& prefix) {
  return {.qkv = prefix + "attn.Wqkv",
          .attention_output = prefix + "attn.out_proj",
          .attention_norm = prefix + "norm1",
          .gate = prefix + "mlp.fc12",
          .intermediate = prefix + "mlp.fc11",
          .output = prefix + "mlp.fc2",
          .output_norm = prefix + "norm2"};
}

LayerNames albert_layer(const std::string& prefix) {
  return {.query = prefix + "attention.query",
          .key = prefix + "attention.key",
          .value = prefix + "attention.value",
          .attention_output = prefix + "attention.dense",
          .attention_norm = prefix + "attention.LayerNorm",
          .intermediate = prefix + "ffn",
          .output = prefix + "ffn_output",
          .output_norm = prefix + "full_layer_layer_norm"};
}

}  // namespace

std::string base_prefix(const ModelConfig& config) {
  switch (config.type) {
    case ModelType::kBert:
      return "bert.";
    case ModelType::kRoberta:
    case ModelType::kXlmRoberta:
    case ModelType::kCamembert:
      return "roberta.";
    case ModelType::kDistilBert:
      return "distilbert.";
    case ModelType::kElectra:
      return "electra.";
    case ModelType::kAlbert:
      return "albert.";
    case ModelType::kDebertaV2:
      return "deberta.";
    case ModelType::kModernBert:
      return "model.";
    case ModelType::kMpnet:
      return "mpnet.";
    case ModelType::kNomicBert:
      return "nomic_bert.";
  }
  return "";
}

// Nomic's own code has the prefix of BERT.
std::string other_base_prefix(const ModelConfig& config) {
  return config.type == ModelType::kNomicBert ? "bert." : "";
}

EmbeddingNames embedding_names(const ModelConfig& config) {
  const std::string base = base_prefix(config), prefix = base + "embeddings.";
  EmbeddingNames names{.word = prefix + "word_embeddings",
                       .position = prefix + "position_embeddings",
                       .token_type = prefix + "token_type_embeddings",
                       .norm = prefix + "LayerNorm",
                       .projection = ""};
  if (config.type == ModelType::kModernBert) {
    names.word = prefix + "tok_embeddings";
    names.norm = prefix + "norm";
  }
  if (config.type == ModelType::kNomicBert) names.norm = base + "emb_ln";
  if (config.type_vocab_size == 0) names.token_type.clear();
  if (!config.has_absolute_positions) names.position.clear();
  if (config.type == ModelType::kAlbert) {  // ALBERT projects even if the sizes are equal
    names.projection = base + "encoder.embedding_hidden_mapping_in";
  } else if (config.embedding_width() != config.hidden_size) {
    names.projection = own_prefix(config) + base + "embeddings_project";
  }
  return names;
}

RelativePositionNames relative_position_names(const ModelConfig& config) {
  const std::string encoder = base_prefix(config) + "encoder.";
  return {.table = encoder + "rel_embeddings",
          .norm = config.normalizes_relative_positions ? encoder + "LayerNorm" : ""};
}

std::string position_bias_name(const ModelConfig& config) {
  if (config.position_bias_buckets == 0) return "";
  return base_prefix(config) + "encoder.relative_attention_bias";
}

ConvolutionNames convolution_names(const ModelConfig& config) {
  if (config.conv_kernel_size == 0) return {};
  const std::string prefix = base_prefix(config) + "encoder.conv.";
  return {.conv = prefix + "conv", .norm = prefix + "LayerNorm"};
}

LayerNames layer_names(const ModelConfig& config, int64_t layer) {
  const std::string base = own_prefix(config) + base_prefix(config);
  if (config.type == ModelType::kDistilBert) {
    return distilbert_layer(base + "transformer.layer." + std::to_string(layer) + ".");
  }
  if (config.type == ModelType::kModernBert) return modernbert_layer(config, base, layer);
  if (config.type == ModelType::kNomicBert) {
    return nomic_layer(base + "encoder.layers." + std::to_string(layer) + ".");
  }
  if (config.type == ModelType::kAlbert) {
    const int64_t group = layer * config.num_hidden_groups / config.num_hidden_layers;
    return albert_layer(base + "encoder.albert_layer_groups." + std::to_string(group) +
                        ".albert_layers.0.");
  }
  const std::string prefix = base + "encoder.layer." + std::to_string(layer) + ".";
  if (config.type == ModelType::kMpnet) return mpnet_layer(prefix);
  return config.type == ModelType::kDebertaV2 ? deberta_layer(prefix) : bert_layer(prefix);
}

bool shares_parameters(const ModelConfig& config, int64_t layer) {
  return layer > 0 && layer_names(config, layer) == layer_names(config, layer - 1);
}

SequenceHeadNames sequence_head_names(const ModelConfig& config) {
  switch (config.type) {
    case ModelType::kRoberta:
    case ModelType::kXlmRoberta:
    case ModelType::kCamembert:
    case ModelType::kMpnet:
      return {"classifier.dense", "classifier.out_proj", Activation::kTanh, true};
    case ModelType::kElectra:
      return {"classifier.dense", "classifier.out_proj", Activation::kGelu, true};
    case ModelType::kDistilBert:
      return {"pre_classifier", "classifier", Activation::kRelu, false};
    case ModelType::kAlbert:
      return {"albert.pooler", "classifier", Activation::kTanh, false};
    case ModelType::kDebertaV2:
      return {"pooler.dense", "classifier", config.pooler_act, true};
    case ModelType::kModernBert:
      return {"head.dense", "classifier", config.pooler_act, false, "head.norm"};
    case ModelType::kNomicBert:
    case ModelType::kBert:
      break;
  }
  return {base_prefix(config) + "pooler.dense", "classifier", Activation::kTanh, false};
}

std::string token_head_name(const ModelConfig& config) {
  if (config.transforms_tokens()) return "classifier";  // also of answers
  return std::string(traits(config.task).token_head);
}

TransformNames token_transform_names(const ModelConfig& config) {
  return {"head.dense", "head.norm", config.pooler_act};
}

DetectionHeadNames detection_head_names(const ModelConfig& config) {
  return {"discriminator_predictions.dense", "discriminator_predictions.dense_prediction",
          config.hidden_act};
}

MaskedLmHeadNames masked_lm_head_names(const ModelConfig& config) {
  MaskedLmHeadNames names;
  switch (config.type) {
    case ModelType::kRoberta:
    case ModelType::kXlmRoberta:
    case ModelType::kCamembert:
    case ModelType::kMpnet:
      names = {"lm_head.dense",          "lm_head.layer_norm", "lm_head.bias",
               {"lm_head.decoder.bias"}, Activation::kGelu,    "lm_head.decoder.weight"};
      break;
    case ModelType::kDistilBert:
      names = {"vocab_transform", "vocab_layer_norm",      "vocab_projector.bias", {},
               config.hidden_act, "vocab_projector.weight"};
      break;
    case ModelType::kElectra:
      names = {own_prefix(config) + "generator_predictions.dense",
               own_prefix(config) + "generator_predictions.LayerNorm",
               own_prefix(config) + "generator_lm_head.bias",
               {},
               Activation::kGelu,
               own_prefix(config) + "generator_lm_head.weight"};
      break;
    case ModelType::kAlbert:
      names = {"predictions.dense",          "predictions.LayerNorm", "predictions.bias",
               {"predictions.decoder.bias"}, config.hidden_act,       "predictions.decoder.weight"};
      break;
    case ModelType::kModernBert:
      names = {"head.dense", "head.norm", "decoder.bias", {}, config.pooler_act, "decoder.weight"};
      break;
    case ModelType::kNomicBert:
    case ModelType::kDebertaV2:
    case ModelType::kBert: {
      const bool nomic = config.type == ModelType::kNomicBert;
      names = {
          "cls.predictions.transform.dense",
          nomic ? "cls.predictions.transform.layer_norm" : "cls.predictions.transform.LayerNorm",
          "cls.predictions.bias",
          {"cls.predictions.decoder.bias"},
          config.hidden_act,
          "cls.predictions.decoder.weight"};
    }
  }
  names.decoder =
      config.ties_word_embeddings ? embedding_names(config).word + ".weight" : names.own_decoder;
  // The bias of a decoder that is not tied is its own, too: transformers 5 does not compute with
  // the other one.
  if (!config.ties_word_embeddings && !names.bias_aliases.empty()) {
    std::swap(names.bias, names.bias_aliases.front());
  }
  return names;
}

}  // namespace berth
