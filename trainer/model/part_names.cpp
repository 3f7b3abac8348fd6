#include "trainer/model/part_names.h"

#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/architecture.h"
#include "trainer/model/generator.h"

namespace berth {
namespace {

// What stands before the names of parts that a generator does not share.
std::string own_prefix(const ModelConfig& config) {
  return config.is_generator ? std::string(kGeneratorPrefix) : "";
}

// Behind the prefix of the encoder.
std::string in_layer(const ModelConfig& config, int64_t layer, const char* part) {
  const std::string_view layers = architecture(config.type).layer.layer;
  const size_t at = layers.find('#');
  const int64_t groups = config.num_hidden_groups;
  const int64_t number = groups > 0 ? layer * groups / config.num_hidden_layers : layer;
  return cat(layers.substr(0, at), number, layers.substr(at + 1), part);
}

}  // namespace

std::string dense_module_name(size_t place) { return cat(kDensePrefix, place, ".linear"); }

std::string base_prefix(const ModelConfig& config) {
  return std::string(architecture(config.type).prefix);
}

std::string other_base_prefix(const ModelConfig& config) {
  return std::string(architecture(config.type).other_prefix);
}

EmbeddingNames embedding_names(const ModelConfig& config) {
  const std::string base = base_prefix(config);
  const EmbeddingParts& parts = architecture(config.type).embeddings;
  EmbeddingNames names{.word = base + parts.word,
                       .position = base + parts.position,
                       .token_type = base + parts.token_type,
                       .norm = parts.norm == nullptr ? "" : base + parts.norm,
                       .task_type = base + "embeddings.task_type_embeddings",
                       .projection = "",
                       .input_norm = ""};
  if (config.type_vocab_size == 0) names.token_type.clear();
  if (config.task_type_vocab_size == 0) names.task_type.clear();
  if (!config.has_absolute_positions) names.position.clear();
  if (parts.always_projects || config.embedding_width() != config.hidden_size) {
    names.projection = own_prefix(config) + base + parts.projection;
  }
  const LayerParts& layer = architecture(config.type).layer;
  if (layer.final_norm != nullptr && layer.first_normalizes) {
    names.input_norm = base + in_layer(config, 0, layer.output_norm);
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
  const LayerParts& parts = architecture(config.type).layer;
  const auto named = [&](int64_t of, const char* part) {
    return part == nullptr ? "" : base + in_layer(config, of, part);
  };
  LayerNames names{.qkv = named(layer, parts.qkv),
                   .attention_output = named(layer, parts.attention_output),
                   .attention_norm = named(layer, parts.attention_norm),
                   .gate = named(layer, parts.gate),
                   .intermediate = named(layer, parts.intermediate),
                   .output = named(layer, parts.output),
                   .output_norm = named(layer, parts.output_norm)};
  if (names.qkv.empty()) {
    names.query = named(layer, parts.query);
    names.key = named(layer, parts.key);
    names.value = named(layer, parts.value);
  }
  if (parts.final_norm != nullptr) {
    const bool is_last = layer + 1 == config.num_hidden_layers;
    names.output_norm = is_last ? base + parts.final_norm : named(layer + 1, parts.output_norm);
  }
  return names;
}

bool shares_parameters(const ModelConfig& config, int64_t layer) {
  return layer > 0 && layer_names(config, layer) == layer_names(config, layer - 1);
}

SequenceHeadNames sequence_head_names(const ModelConfig& config) {
  const SequenceHeadParts& parts = architecture(config.type).sequence_head;
  const ChoiceHead choice = architecture(config.type).choice_head;
  const bool is_choice = traits(config.task).labels == LabelKind::kChoice;
  if (is_choice && choice == ChoiceHead::kNone) {
    throw Error(
        Code::kUsage,
        cat("transformers has no class for multiple choice that reads the first token of a ",
            architecture(config.type).title),
        "--task multiple_choice", "give a model of another architecture, such as bert or roberta");
  }
  if (is_choice && choice == ChoiceHead::kPooler) {
    return {.dense = base_prefix(config) + "pooler.dense",
            .classifier = "classifier",
            .activation = Activation::kTanh,
            .drops_before_dense = false};
  }
  if (is_choice && choice == ChoiceHead::kSummary) {
    return {.dense = "sequence_summary.summary",
            .classifier = "classifier",
            .activation = Activation::kGelu,
            .drops_before_dense = false};
  }
  return {.dense = parts.dense,
          .classifier = parts.classifier,
          .activation = parts.activation.of(config),
          .drops_before_dense = parts.drops_before_dense,
          .norm = parts.norm == nullptr ? "" : parts.norm};
}

std::string token_head_name(const ModelConfig& config) {
  if (config.transforms_tokens()) return "classifier";  // also of answers
  return std::string(traits(config.task).token_head);
}

TransformNames token_transform_names(const ModelConfig& config) {
  return {"head.dense", "head.norm", config.pooler_act};
}

NextSentenceHeadNames next_sentence_head_names(const ModelConfig& config) {
  const Architecture& row = architecture(config.type);
  return {.dense = row.sequence_head.dense,
          .classifier = row.next_sentence == nullptr ? "" : row.next_sentence,
          .activation = row.sequence_head.activation.of(config)};
}

DetectionHeadNames detection_head_names(const ModelConfig& config) {
  return {"discriminator_predictions.dense", "discriminator_predictions.dense_prediction",
          config.hidden_act};
}

MaskedLmHeadNames masked_lm_head_names(const ModelConfig& config) {
  const MaskedLmHeadParts& parts = architecture(config.type).masked_lm_head;
  const auto named = [own = own_prefix(config)](const char* part, const char* end = "") {
    return own + part + end;
  };
  MaskedLmHeadNames names{.dense = named(parts.dense),
                          .norm = named(parts.norm),
                          .bias = named(parts.bias),
                          .bias_aliases = {named(parts.decoder, ".bias")},
                          .activation = parts.activation.of(config),
                          .own_decoder = named(parts.decoder, ".weight")};
  if (names.bias_aliases.front() == names.bias) names.bias_aliases.clear();
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
