#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/config.h"

namespace berth {

// What Hugging Face calls the parts of each architecture, without ".weight" and ".bias". An empty
// name: the architecture has no such part.

struct EmbeddingNames {
  std::string word, position, token_type, norm;
  std::string projection;  // from embedding_size to hidden_size
};
EmbeddingNames embedding_names(const ModelConfig& config);

// DeBERTa's; no norm: they are taken as they are.
struct RelativePositionNames {
  std::string table, norm;
};
RelativePositionNames relative_position_names(const ModelConfig& config);

// DeBERTa-v2-xlarge's, beside the first layer; empty where the config has none.
struct ConvolutionNames {
  std::string conv, norm;
};
ConvolutionNames convolution_names(const ModelConfig& config);

struct LayerNames {
  std::string query, key, value, attention_output, attention_norm;
  std::string intermediate, output, output_norm;
  bool operator==(const LayerNames&) const = default;
};
// Equal for layers that share their parameters.
LayerNames layer_names(const ModelConfig& config, int64_t layer);
// Whether the layer has the parameters of the one before (ALBERT).
bool shares_parameters(const ModelConfig& config, int64_t layer);

// logits = classifier(dropout(activation(dense(first))))
struct SequenceHeadNames {
  std::string dense, classifier;
  Activation activation;
  bool drops_before_dense;  // too
};
SequenceHeadNames sequence_head_names(const ModelConfig& config);

// logits = NAME(dropout(hidden))
std::string token_head_name(const ModelConfig& config);

// logits = norm(activation(dense(hidden))) word^T + bias
struct MaskedLmHeadNames {
  std::string dense, norm;
  std::string bias;                       // the whole name
  std::vector<std::string> bias_aliases;  // it is saved as the tied decoder's, too
  Activation activation;
};
MaskedLmHeadNames masked_lm_head_names(const ModelConfig& config);

// "bert.": what names of the encoder begin with, and lack where it was saved alone.
std::string base_prefix(const ModelConfig& config);

}  // namespace berth
