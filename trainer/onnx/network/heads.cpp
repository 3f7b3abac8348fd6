#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"
#include "trainer/onnx/network/ports.h"

namespace berth::onnx {
namespace {

// The means of the tokens that are no padding: [B,H].
Value means(const Network& network, const Value& hidden) {
  const Value is_token = cast(network.attention_mask, ElementType::kF32);  // [B,S]
  const Value sums = squeeze(matmul(unsqueeze(is_token, {1}), hidden), {1});
  return sums / sum(is_token, 1);
}

Value first_tokens(const Network& network, const Value& hidden) {
  return gather(hidden, constant(network.graph, int64_t{0}), 1);  // [B,H]
}

// The texts' embeddings, as the config makes them of the last hidden states. [B,H]
Value embeddings(const Network& network, const Value& hidden) {
  Value pooled;
  switch (network.config.pooling) {
    case Pooling::kMean:
      pooled = means(network, hidden);
      break;
    case Pooling::kCls:
      pooled = first_tokens(network, hidden);
      break;
    case Pooling::kMax: {
      const Value is_token = cast(unsqueeze(network.attention_mask, {2}), ElementType::kF32);
      pooled = largest(hidden + excluding_scores(is_token), 1);
    }
  }
  if (!network.config.normalizes_embeddings) return pooled;
  const Value least = constant(network.graph, 1e-12F);  // as in torch.nn.functional.normalize
  return pooled / unsqueeze(maximum(lengths(pooled, 1), least), {1});
}

// norm(activation(dense(x))). Without a name, nothing is normalized.
Value transformed(Network& network, const Value& x, const std::string& dense, Activation activation,
                  const std::string& norm) {
  const Value y = activate(network.linear(x, dense), activation);
  return norm.empty() ? y : network.layer_norm(y, norm);
}

// classifier(norm(activation(dense(first)))): BERT's pooler and classifier, or what the
// architecture has in their place. [B,C]
Value sequence_logits(Network& network, const Value& hidden) {
  const SequenceHeadNames names = sequence_head_names(network.config);
  const Value first =
      network.config.pools_mean ? means(network, hidden) : first_tokens(network, hidden);
  return network.linear(transformed(network, first, names.dense, names.activation, names.norm),
                        names.classifier);
}

// [B,S,C]
Value token_logits(Network& network, const Value& hidden) {
  const ModelConfig& config = network.config;
  if (!config.transforms_tokens()) return network.linear(hidden, token_head_name(config));
  const TransformNames names = token_transform_names(config);
  return network.linear(transformed(network, hidden, names.dense, names.activation, names.norm),
                        token_head_name(config));
}

// norm(activation(dense(hidden))) word^T + bias, with the word embeddings (Press and Wolf 2017,
// arXiv:1608.05859), which the file holds once. [B,S,V]
Value masked_logits(Network& network, const Value& hidden) {
  const MaskedLmHeadNames names = masked_lm_head_names(network.config);
  const Value normalized = transformed(network, hidden, names.dense, names.activation, names.norm);
  const Value decoder = network.parameter(names.decoder);
  return matmul(normalized, transpose(decoder, {1, 0})) + network.parameter(names.bias);
}

// ELECTRA's discriminator: [B,S].
Value detection_logits(Network& network, const Value& hidden) {
  const DetectionHeadNames names = detection_head_names(network.config);
  const Value dense = activate(network.linear(hidden, names.dense), names.activation);
  return squeeze(network.linear(dense, names.prediction), {2});
}

void add_span_outputs(Network& network, const Value& hidden) {
  const Value logits = token_logits(network, hidden);  // [B,S,2]
  const std::vector<Value> ends = split(logits, 2, {1, 1});
  network.graph.output(squeeze(ends[0], {2}), logits_port("start_logits", {kBatch, kSequence}));
  network.graph.output(squeeze(ends[1], {2}), logits_port("end_logits", {kBatch, kSequence}));
}

// The hidden states and, where the model makes embeddings, these.
void add_encoder_outputs(Network& network, const Value& hidden) {
  const int64_t width = network.config.hidden_size;
  const Value embedding =
      makes_embeddings(network.config.task) ? embeddings(network, hidden) : Value();
  network.graph.output(hidden, logits_port("last_hidden_state", {kBatch, kSequence, width}));
  if (embedding) {
    network.graph.output(embedding, logits_port("sentence_embedding", {kBatch, width}));
  }
}

}  // namespace

void add_outputs(Network& network, const Value& hidden) {
  Graph& graph = network.graph;
  const ModelConfig& config = network.config;
  const TaskTraits& task = traits(config.task);
  graph.begin_part("head");
  // The head of a distillation is no part of the model.
  if (are_vectors(task.labels) || task.rows == HeadRows::kGroups) {
    return add_encoder_outputs(network, hidden);
  }
  if (task.labels == LabelKind::kSpan) return add_span_outputs(network, hidden);
  switch (task.rows) {
    case HeadRows::kSequences:
      return graph.output(sequence_logits(network, hidden),
                          logits_port("logits", {kBatch, config.num_outputs()}));
    case HeadRows::kMasked:
      return graph.output(masked_logits(network, hidden),
                          logits_port("logits", {kBatch, kSequence, config.vocab_size}));
    case HeadRows::kReplaced:
      return graph.output(detection_logits(network, hidden),
                          logits_port("logits", {kBatch, kSequence}));
    case HeadRows::kTokens:
    case HeadRows::kPooled:
    case HeadRows::kGroups:
    case HeadRows::kStates:
      break;
  }
  graph.output(token_logits(network, hidden),
               logits_port("logits", {kBatch, kSequence, config.num_outputs()}));
}

}  // namespace berth::onnx
