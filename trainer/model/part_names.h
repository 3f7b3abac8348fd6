#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/config.h"

namespace berth {

// The names that Hugging Face gives to the parts of each architecture, without ".weight" and
// ".bias". Where a name is empty, the architecture has no such part.

struct EmbeddingNames {
  std::string word, position, token_type, norm;
  std::string task_type;   // each token takes the first row
  std::string projection;  // from embedding_size to hidden_size
  std::string input_norm;  // of the first layer's input; its residual is not normalized
};
EmbeddingNames embedding_names(const ModelConfig& config);

// DeBERTa's relative positions. Without a norm the embeddings are not normalized.
struct RelativePositionNames {
  std::string table, norm;
};
RelativePositionNames relative_position_names(const ModelConfig& config);

// MPNet's table of biases by distance; empty: there is none.
std::string position_bias_name(const ModelConfig& config);

// The convolution beside the first layer, which the larger DeBERTa-v2 models have.
struct ConvolutionNames {
  std::string conv, norm;
};
ConvolutionNames convolution_names(const ModelConfig& config);

struct LayerNames {
  std::string qkv{};  // query, key and value as one matrix; empty: they are three
  std::string query{}, key{}, value{}, attention_output, attention_norm;
  // In a gated layer whose two matrices are two parameters, `gate` is the matrix whose product is
  // activated.
  std::string gate{}, intermediate, output, output_norm;
  bool operator==(const LayerNames&) const = default;
};
// Layers that share their parameters have equal names.
LayerNames layer_names(const ModelConfig& config, int64_t layer);
// Whether the layer shares the parameters of the layer before it, as in ALBERT.
bool shares_parameters(const ModelConfig& config, int64_t layer);

// The head of sequences: logits = classifier(dropout(norm(activation(dense(first))))). Without a
// norm nothing is normalized. Multiple choice has one logit, and other layers in some
// architectures; throws kUsage where transformers has none for it.
struct SequenceHeadNames {
  std::string dense, classifier;
  Activation activation;
  bool drops_before_dense;  // dropout is applied to `first`, too
  std::string norm{};
};
SequenceHeadNames sequence_head_names(const ModelConfig& config);

// The head of tokens: logits = NAME(dropout(hidden)).
std::string token_head_name(const ModelConfig& config);
// The head's first step for hidden states, if the config transforms_tokens():
// norm(activation(dense(hidden))).
struct TransformNames {
  std::string dense, norm;
  Activation activation;
};
TransformNames token_transform_names(const ModelConfig& config);

// The head of masked tokens: logits = norm(activation(dense(hidden))) decoder^T + bias.
struct MaskedLmHeadNames {
  std::string dense, norm;
  std::string bias;                       // the whole name of the parameter
  std::vector<std::string> bias_aliases;  // files name it after the tied decoder, too
  Activation activation{};
  std::string own_decoder{};  // the whole name of the matrix [V,E] of a head that is not tied
  std::string decoder{};      // the whole name of what multiplies: it, or the word embeddings
};
MaskedLmHeadNames masked_lm_head_names(const ModelConfig& config);

// The head that says whether the second text of a pair follows the first one: logits =
// classifier(dropout(activation(dense(first)))). Empty names: the architecture has no such head.
struct NextSentenceHeadNames {
  std::string dense, classifier;
  Activation activation;
};
NextSentenceHeadNames next_sentence_head_names(const ModelConfig& config);

// The head of ELECTRA's discriminator: logits = prediction(activation(dense(hidden))).
struct DetectionHeadNames {
  std::string dense, prediction;
  Activation activation;
};
DetectionHeadNames detection_head_names(const ModelConfig& config);

// The dense layer of a Dense module of sentence-transformers, by its place among them. In the
// module's own file it is called "linear".
inline constexpr std::string_view kDensePrefix = "dense_modules.";
std::string dense_module_name(size_t place);

// The prefix of the encoder's parameters ("bert."). Names lack it if the encoder was saved without
// a head.
std::string base_prefix(const ModelConfig& config);
// Another prefix that files have in its place; empty: there is none.
std::string other_base_prefix(const ModelConfig& config);

}  // namespace berth
