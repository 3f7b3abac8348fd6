#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>

#include "storage/base/text.h"
#include "trainer/model/config.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

// The forward pass of every encoder and of its heads, described once for all compilers of graphs.
// A description is a function template. A lowering is the type that it is instantiated with: it
// adds operations to one kind of graph. trainer/onnx has a lowering to ONNX, of padded batches, and
// trainer/xla/network one to StableHLO, of packed batches with dropout. The CPU engine has kernels
// and no graph, so it does not use this file.
//
// Shape letters: N rows of states, H hidden, F feed-forward, C outputs. The rows are all tokens
// [B,S] or [T], or the rows that the head reads. H, F and C are the last dimension.
namespace berth {

// What a description asks of a lowering. A Value is a handle of a node; x + y and x * y take two
// values of one shape. `rows` are the numbers of rows for dropout and may be an empty Value where
// nothing is dropped.
template <class Lowering>
concept NetworkLowering = requires(Lowering& to, const typename Lowering::Value& x,
                                   const std::string& name, int64_t layer, LayerPart part, double p,
                                   uint32_t site, const EmbeddingNames& embeddings,
                                   const MaskedLmHeadNames& head, Activation activation) {
  requires std::convertible_to<decltype(to.config), const ModelConfig&>;

  // The nodes of the next calls belong to this part of the network: "layer.0/attention".
  to.begin_part(name);
  // The calls between these two are one layer, which reverse mode may compute again.
  to.begin_layer();
  to.end_layer();

  // ---- Rows [N,K] to rows [N,M] ----
  // x w^T + b with the parameters NAME.weight and, if there is one, NAME.bias.
  { to.linear(x, name) } -> std::same_as<typename Lowering::Value>;
  // The same for a dense layer of an encoder layer, with its adapter if it has one.
  { to.adapted_linear(x, name, layer, part, x) } -> std::same_as<typename Lowering::Value>;
  // Layer normalization (Ba et al. 2016, arXiv:1607.06450), with or without NAME.bias.
  { to.layer_norm(x, name) } -> std::same_as<typename Lowering::Value>;
  // Dropout with probability p at a place of dropout_sites.h.
  { to.dropout(x, p, site, x) } -> std::same_as<typename Lowering::Value>;
  { activate(x, activation) } -> std::same_as<typename Lowering::Value>;
  // The first and the second half of each row.
  { to.halves(x) } -> std::same_as<std::array<typename Lowering::Value, 2>>;
  // What a half of a layer adds to its input: first the input, then the output.
  { to.residual_sum(x, x) } -> std::same_as<typename Lowering::Value>;

  // ---- The blocks that depend on how a batch lies in memory. ----
  // The sum of the embeddings of words, positions, token types and task types that have a name:
  // [N,E].
  { to.embedding_sum(embeddings) } -> std::same_as<typename Lowering::Value>;
  // Makes what all layers share: relative positions, rotary positions, biases by distance.
  to.add_positions();
  // Self-attention (Vaswani et al. 2017, arXiv:1706.03762) of every token inside its sequence,
  // before the output's dense layer: [N,H].
  { to.attend(layer, x) } -> std::same_as<typename Lowering::Value>;
  // A convolution over the tokens of each sequence, with zeros beyond its ends: [N,H].
  { to.convolution(x, name) } -> std::same_as<typename Lowering::Value>;
  // The logits [N,V] of a masked-LM head: x decoder^T + bias.
  { to.vocabulary_logits(x, head) } -> std::same_as<typename Lowering::Value>;

  // ---- Choices of rows ----
  // The numbers of all tokens, and of all sequences.
  { to.token_rows() } -> std::same_as<typename Lowering::Value>;
  { to.sequence_rows() } -> std::same_as<typename Lowering::Value>;
  // The rows of the last layer that the head reads. They are all rows where the head reads all, or
  // where the lowering does not choose.
  { to.picked(x) } -> std::same_as<typename Lowering::Value>;
  // Of the last hidden states, one row for each sequence: its first token, or its tokens' mean.
  { to.first_tokens(x) } -> std::same_as<typename Lowering::Value>;
  { to.sequence_means(x) } -> std::same_as<typename Lowering::Value>;
};

// What a layer, or half of one, makes of its rows [N,H]: `y` is normalized `sum`. Post-normalized
// layers (Vaswani et al. 2017) add to y, and pre-normalized ones (Xiong et al. 2020,
// arXiv:2002.04745) to the sum.
template <class Value>
struct NormalizedSum {
  Value y, sum;
};

// Without a name, nothing is normalized.
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value normalized(Lowering& to, const Value& x, const std::string& norm) {
  return norm.empty() ? x : to.layer_norm(x, norm);
}

// Sums of embeddings, normalized and projected: [N,H].
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value embed(Lowering& to) {
  to.begin_part("embeddings");
  const EmbeddingNames names = embedding_names(to.config);
  const Value sum = to.embedding_sum(names), rows = to.token_rows();
  const Value x = to.dropout(normalized(to, sum, names.norm), to.config.hidden_dropout_prob,
                             kEmbeddingsSite, rows);
  return names.projection.empty() ? x : to.linear(x, names.projection);
}

// The activations [N,F] in the middle of the feed-forward part: activation(dense(x)). A gated part
// has dropout(activation(a) * b) (Shazeer 2020, arXiv:2002.05202).
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value feed_forward_activations(Lowering& to, int64_t layer, const Value& x, const Value& rows) {
  const ModelConfig& config = to.config;
  const LayerNames names = layer_names(config, layer);
  const Value wide =
      to.adapted_linear(x, names.intermediate, layer, LayerPart::kIntermediate, rows);
  if (!config.is_gated) return activate(wide, config.hidden_act);
  Value gated;
  if (names.gate.empty()) {
    const std::array<Value, 2> halves = to.halves(wide);
    gated = activate(halves[0], config.hidden_act) * halves[1];
  } else {
    const Value gate = to.adapted_linear(x, names.gate, layer, LayerPart::kGate, rows);
    gated = activate(gate, config.hidden_act) * wide;
  }
  return to.dropout(gated, config.mlp_dropout, layer_site(layer, LayerSite::kFeedForwardOutput),
                    rows);
}

// What follows attention in a layer, of the rows with the numbers `rows`.
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
NormalizedSum<Value> finish_layer(Lowering& to, int64_t layer, const NormalizedSum<Value>& x,
                                  const Value& attended, const Value& rows) {
  const ModelConfig& config = to.config;
  const LayerNames names = layer_names(config, layer);
  const auto add_and_normalize = [&](const NormalizedSum<Value>& input, const Value& output,
                                     double p, LayerSite site, const std::string& norm) {
    const Value dropped = to.dropout(output, p, layer_site(layer, site), rows);
    const Value sum = to.residual_sum(config.normalizes_first ? input.sum : input.y, dropped);
    return NormalizedSum<Value>{.y = to.layer_norm(sum, norm), .sum = sum};
  };
  const Value projected =
      to.adapted_linear(attended, names.attention_output, layer, LayerPart::kAttentionOutput, rows);
  const NormalizedSum<Value> middle =
      add_and_normalize(x, projected, config.attention_output_dropout(),
                        LayerSite::kAttentionOutput, names.attention_norm);
  to.begin_part(cat("layer.", layer, "/feed_forward"));
  const Value wide = feed_forward_activations(to, layer, middle.y, rows);
  const Value output = to.adapted_linear(wide, names.output, layer, LayerPart::kOutput, rows);
  return add_and_normalize(middle, output, config.feed_forward_dropout(),
                           LayerSite::kFeedForwardOutput, names.output_norm);
}

// DeBERTa's convolution beside the first layer: norm(layer_output + activation(dropout(conv(x)))).
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value convolve(Lowering& to, const Value& x, const Value& layer_output) {
  to.begin_part("convolution");
  const ConvolutionNames names = convolution_names(to.config);
  const Value y = to.dropout(to.convolution(x, names.conv), to.config.hidden_dropout_prob,
                             kConvolutionSite, to.token_rows());
  return to.layer_norm(layer_output + activate(y, to.config.conv_act), names.norm);
}

// The last hidden states of the tokens that the head reads: [N,H].
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value encode(Lowering& to) {
  const ModelConfig& config = to.config;
  NormalizedSum<Value> x;
  x.sum = embed(to);
  x.y = normalized(to, x.sum, embedding_names(config).input_norm);
  to.add_positions();
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    to.begin_layer();
    to.begin_part(cat("layer.", layer, "/attention"));
    NormalizedSum<Value> input = x;
    Value rows = to.token_rows();
    Value attended = to.attend(layer, x.y);
    // The head reads some tokens of the last layer's output, so only these are computed. A
    // convolution reads all.
    const bool is_last = layer + 1 == config.num_hidden_layers;
    const bool has_convolution = layer == 0 && config.conv_kernel_size > 0;
    if (is_last && !has_convolution) {
      input = {.y = to.picked(x.y), .sum = to.picked(x.sum)};
      attended = to.picked(attended);
      rows = to.picked(rows);
    }
    const Value before = x.y;
    x = finish_layer(to, layer, input, attended, rows);
    if (has_convolution) x.y = convolve(to, before, x.y);
    if (is_last && has_convolution) x.y = to.picked(x.y);
    to.end_layer();
  }
  return x.y;
}

// ---- Heads: logits of the encoder's last hidden states ------------------------------------------

// norm(activation(dense(x))).
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value transformed(Lowering& to, const Value& x, const std::string& dense, Activation activation,
                  const std::string& norm) {
  return normalized(to, activate(to.linear(x, dense), activation), norm);
}

// classifier(dropout(norm(activation(dense(first))))): BERT's pooler and classifier, or what the
// architecture has in their place. `first` are the first tokens or the means of sequences. [B,C]
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value sequence_logits(Lowering& to, const Value& hidden) {
  const ModelConfig& config = to.config;
  const SequenceHeadNames names = sequence_head_names(config);
  Value first = config.pools_mean ? to.sequence_means(hidden) : to.first_tokens(hidden);
  const Value rows = to.sequence_rows();
  if (names.drops_before_dense) {
    first = to.dropout(first, config.pooler_dropout(), kFirstTokenSite, rows);
  }
  const Value pooled = transformed(to, first, names.dense, names.activation, names.norm);
  return to.linear(to.dropout(pooled, config.head_dropout(), kClassifierSite, rows),
                   names.classifier);
}

// classifier(dropout(activation(dense(first)))): whether the second text of a pair follows the
// first one. [B,2]
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value next_sentence_logits(Lowering& to, const Value& hidden) {
  const NextSentenceHeadNames names = next_sentence_head_names(to.config);
  const Value pooled = transformed(to, to.first_tokens(hidden), names.dense, names.activation, "");
  return to.linear(
      to.dropout(pooled, to.config.head_dropout(), kClassifierSite, to.sequence_rows()),
      names.classifier);
}

// prediction(activation(dense(hidden))), without dropout: whether a token was replaced. [N,1]
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value detection_logits(Lowering& to, const Value& hidden) {
  const DetectionHeadNames names = detection_head_names(to.config);
  return to.linear(transformed(to, hidden, names.dense, names.activation, ""), names.prediction);
}

// [N,C]
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value token_logits(Lowering& to, const Value& hidden) {
  const ModelConfig& config = to.config;
  Value x = hidden;
  if (config.transforms_tokens()) {
    const TransformNames names = token_transform_names(config);
    x = transformed(to, x, names.dense, names.activation, names.norm);
  }
  return to.linear(to.dropout(x, config.head_dropout(), kClassifierSite, to.token_rows()),
                   token_head_name(config));
}

// norm(activation(dense(hidden))) word^T + bias, with the word embeddings (Press and Wolf 2017,
// arXiv:1608.05859) or a matrix of its own. [N,V]
template <NetworkLowering Lowering, class Value = typename Lowering::Value>
Value masked_logits(Lowering& to, const Value& hidden) {
  const MaskedLmHeadNames names = masked_lm_head_names(to.config);
  return to.vocabulary_logits(transformed(to, hidden, names.dense, names.activation, names.norm),
                              names);
}

}  // namespace berth
