#include "trainer/model/parameter_table.h"

#include <cmath>

#include "trainer/model/architecture.h"
#include "trainer/model/generator.h"
#include "trainer/model/lora.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

class TableBuilder {
 public:
  explicit TableBuilder(const ModelConfig& config) : config_(config) {}

  void embeddings() {
    const EmbeddingNames names = embedding_names(config_);
    const int64_t width = config_.embedding_width();
    matrix(names.word + ".weight", config_.vocab_size, width);
    // What predicts masked tokens multiplies by the whole matrix.
    table_.back().is_looked_up =
        traits(config_.task).labels != LabelKind::kMaskedId || !config_.ties_word_embeddings;
    if (!names.position.empty()) {
      matrix(names.position + ".weight", config_.max_position_embeddings, width);
    }
    if (!names.token_type.empty()) {
      matrix(names.token_type + ".weight", config_.type_vocab_size, width);
    }
    if (!names.task_type.empty()) {
      matrix(names.task_type + ".weight", config_.task_type_vocab_size, width);
    }
    if (!names.norm.empty()) layer_norm(names.norm, width);
    if (!names.projection.empty()) dense(names.projection, config_.hidden_size, width);
    if (!names.input_norm.empty()) layer_norm(names.input_norm, config_.hidden_size);
  }

  void relative_positions() {
    const RelativePositionNames names = relative_position_names(config_);
    matrix(names.table + ".weight", 2 * config_.relative_span(), config_.hidden_size);
    if (!names.norm.empty()) layer_norm(names.norm, config_.hidden_size);
  }

  // "bias" in its name exempts it from weight decay in transformers' Trainer.
  void position_bias() {
    matrix(position_bias_name(config_) + ".weight", config_.position_bias_buckets,
           config_.num_attention_heads);
    table_.back().decays = false;
  }

  void layer(const LayerNames& names, const ModelConfig& config) {
    ++depth_;
    const int64_t hidden = config.hidden_size, intermediate = config.intermediate_size;
    // The gradients of layers that share parameters are sums of products. The gradients of queries
    // and keys that tokens and relative positions share are sums, too.
    const bool is_used_once = !shares_parameters(config, 1);
    // Queries, keys and values. Weights stand side by side, so that one product can compute them
    // all.
    if (!names.qkv.empty()) {
      dense(names.qkv, 3 * hidden, hidden, is_used_once, config.has_attention_bias);
    } else {
      for (const std::string& part : {names.query, names.key, names.value}) {
        matrix(part + ".weight", hidden, hidden);
        table_.back().is_product = is_used_once && !config.has_relative_positions();
      }
      for (const std::string& part : {names.query, names.key, names.value}) {
        if (config.has_attention_bias) vector(part + ".bias", hidden);
      }
    }
    dense(names.attention_output, hidden, hidden, is_used_once, config.has_attention_bias);
    layer_norm(names.attention_norm, hidden);
    // The feed-forward part. A gate of its own stands before the other matrix for the same reason.
    if (names.gate.empty()) {
      dense(names.intermediate, config.is_gated ? 2 * intermediate : intermediate, hidden,
            is_used_once, config.has_mlp_bias);
    } else {
      for (const std::string& part : {names.gate, names.intermediate}) {
        matrix(part + ".weight", intermediate, hidden);
        table_.back().is_product = is_used_once;
      }
      for (const std::string& part : {names.gate, names.intermediate}) {
        if (config.has_mlp_bias) vector(part + ".bias", intermediate);
      }
    }
    dense(names.output, hidden, intermediate, is_used_once, config.has_mlp_bias);
    layer_norm(names.output_norm, hidden);
  }

  // Adapters follow all layers, so that everything that trains is at one end of the table.
  void adapters(const LoraOptions& lora) {
    for (ParameterSpec& spec : table_) spec.trains = false;
    const int64_t layers = depth_;
    depth_ = 0;
    for (int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      if (shares_parameters(config_, i)) continue;
      ++depth_;
      for (const LoraTarget& target : lora_targets(config_, lora, i)) {
        matrix(lora_a_name(target.name), lora.rank, target.inputs);
        table_.back().is_adapter = true;
        matrix(lora_b_name(target.name), target.outputs, lora.rank);
        table_.back().is_adapter = true;
        table_.back().initial = Initial::kZeros;
      }
    }
    depth_ = layers;
  }

  // The convolution is as deep as the layer before it.
  void convolution() {
    const ConvolutionNames names = convolution_names(config_);
    const int64_t hidden = config_.hidden_size;
    add({.name = names.conv + ".weight", .shape = {hidden, hidden, config_.conv_kernel_size}});
    vector(names.conv + ".bias", hidden);
    layer_norm(names.norm, hidden);
  }

  void head() {
    in_head_ = true;
    ++depth_;
    const int64_t hidden = config_.hidden_size;
    const int64_t outputs = config_.num_outputs();
    switch (traits(config_.task).rows) {
      case HeadRows::kSequences: {
        const SequenceHeadNames names = sequence_head_names(config_);
        dense(names.dense, hidden, hidden, true, config_.has_classifier_bias);
        if (!names.norm.empty()) layer_norm(names.norm, hidden);
        classifier(names.classifier, outputs, hidden);
        break;
      }
      case HeadRows::kTokens:
        if (config_.transforms_tokens()) {
          const TransformNames names = token_transform_names(config_);
          dense(names.dense, hidden, hidden, true, config_.has_classifier_bias);
          layer_norm(names.norm, hidden);
        }
        classifier(token_head_name(config_), outputs, hidden);
        break;
      case HeadRows::kPooled:
      case HeadRows::kGroups:
        for (size_t i = 0; i < config_.dense_modules.size(); ++i) {
          const DenseModule& module = config_.dense_modules[i];
          dense(dense_module_name(i), module.outputs, module.inputs, /*is_used_once=*/false,
                module.has_bias);
        }
        break;
      case HeadRows::kStates:
        break;
      case HeadRows::kReplaced: {
        const DetectionHeadNames names = detection_head_names(config_);
        dense(names.dense, hidden, hidden);
        classifier(names.prediction, outputs, hidden);
        break;
      }
      case HeadRows::kMasked:
        masked_lm_head(config_);
        break;
      case HeadRows::kMaskedAndFirst: {
        const NextSentenceHeadNames names = next_sentence_head_names(config_);
        masked_lm_head(config_);
        dense(names.dense, hidden, hidden);
        classifier(names.classifier, outputs, hidden);
        break;
      }
    }
  }

  // The generator is as deep as the discriminator's head, and all of its gradients are summed: it
  // is small, and its backward pass is done before the discriminator's.
  void generator(const ModelConfig& config) {
    const size_t first = table_.size();
    const EmbeddingNames names = embedding_names(config);
    if (!names.projection.empty()) {
      dense(names.projection, config.hidden_size, config.embedding_width());
    }
    const int64_t depth = depth_;
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) layer(layer_names(config, i), config);
    depth_ = depth;
    masked_lm_head(config);
    for (size_t i = first; i < table_.size(); ++i) {
      table_[i].is_product = false;
      table_[i].depth = depth;
    }
  }

  void freeze_below(int64_t first_depth) {
    for (ParameterSpec& spec : table_) {
      if (spec.depth < first_depth) spec.trains = false;
    }
  }

  // ModernBERT's deviations: a layer whose output is added to the residual has a smaller one, and a
  // classifier's depends on its number of inputs (transformers' ModernBertPreTrainedModel).
  void initialize_by_depth() {
    const double layers = static_cast<double>(config_.num_hidden_layers);
    for (ParameterSpec& spec : table_) {
      if (spec.initial != Initial::kNormal || spec.is_adapter) continue;
      spec.cutoff = config_.initializer_cutoff_factor;
      if (spec.name.ends_with("Wo.weight") || spec.name == "head.dense.weight") {
        spec.deviation = config_.initializer_range / std::sqrt(2 * layers);
      } else if (spec.name == "classifier.weight") {
        spec.deviation = 1 / std::sqrt(static_cast<double>(config_.hidden_size));
      }
    }
  }

  std::vector<ParameterSpec> take() {
    // An encoder that was saved alone (BertModel) has names without the prefix.
    const std::string prefix = base_prefix(config_), other = other_base_prefix(config_);
    for (ParameterSpec& spec : table_) {
      if (!spec.name.starts_with(prefix)) continue;
      std::vector<std::string> bare = {spec.name.substr(prefix.size())};
      for (const std::string& alias : spec.aliases) bare.push_back(alias.substr(prefix.size()));
      spec.aliases.insert(spec.aliases.end(), bare.begin(), bare.end());
      for (const std::string& name : bare) {
        if (!other.empty()) spec.aliases.push_back(other + name);
      }
    }
    return std::move(table_);
  }

 private:
  void masked_lm_head(const ModelConfig& config) {
    const MaskedLmHeadNames names = masked_lm_head_names(config);
    dense(names.dense, config.embedding_width(), config.hidden_size, true,
          config.has_classifier_bias);
    layer_norm(names.norm, config.embedding_width());
    if (!config.ties_word_embeddings) {
      matrix(names.own_decoder, config.vocab_size, config.embedding_width());
    }
    vector(names.bias, config.vocab_size);
    table_.back().aliases = names.bias_aliases;
  }
  void matrix(const std::string& name, int64_t rows, int64_t columns) {
    add({.name = name, .shape = {rows, columns}});
  }
  void vector(const std::string& name, int64_t size, Initial initial = Initial::kZeros) {
    add({.name = name, .shape = {size}, .initial = initial, .decays = false});
  }
  void dense(const std::string& name, int64_t outputs, int64_t inputs, bool is_used_once = true,
             bool has_bias = true) {
    matrix(name + ".weight", outputs, inputs);
    table_.back().is_product = is_used_once;
    if (has_bias) vector(name + ".bias", outputs);
  }
  // A classifier is small, and narrow ones stay in fp32, so its gradient is not worth keeping as
  // factors.
  void classifier(const std::string& name, int64_t outputs, int64_t inputs) {
    dense(name, outputs, inputs, /*is_used_once=*/false);
  }
  // Files of 2018 to 2020 call the two parameters gamma and beta.
  void layer_norm(const std::string& name, int64_t size) {
    vector(name + ".weight", size, Initial::kOnes);
    table_.back().aliases.push_back(name + ".gamma");
    if (!config_.has_norm_bias) return;
    vector(name + ".bias", size);
    table_.back().aliases.push_back(name + ".beta");
  }
  void add(ParameterSpec spec) {
    spec.is_head = in_head_;
    spec.depth = depth_;
    table_.push_back(std::move(spec));
  }

  const ModelConfig& config_;
  std::vector<ParameterSpec> table_;
  bool in_head_ = false;
  int64_t depth_ = 0;
};

}  // namespace

std::vector<ParameterSpec> parameter_table(const ModelConfig& config) {
  return parameter_table(config, {});
}

std::vector<ParameterSpec> parameter_table(const ModelConfig& config, const LoraOptions& lora,
                                           int64_t first_depth) {
  TableBuilder table(config);
  table.embeddings();
  if (config.has_relative_positions()) table.relative_positions();
  if (config.position_bias_buckets > 0) table.position_bias();
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    if (!shares_parameters(config, i)) table.layer(layer_names(config, i), config);
    if (i == 0 && config.conv_kernel_size > 0) table.convolution();
  }
  if (lora) table.adapters(lora);
  table.head();
  if (config.generator) table.generator(generator_config(config));
  if (architecture(config.type).initializes_by_depth) table.initialize_by_depth();
  table.freeze_below(first_depth);
  return table.take();
}

}  // namespace berth
