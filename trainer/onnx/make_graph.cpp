#include "trainer/onnx/make_graph.h"

#include <string>
#include <utility>
#include <vector>

#include "trainer/onnx/network/network.h"

namespace berth::onnx {
namespace {

ElementType element_type(DType dtype) {
  if (dtype == DType::kF16) return ElementType::kF16;
  return dtype == DType::kBF16 ? ElementType::kBF16 : ElementType::kF32;
}

// The names that Hugging Face Optimum gives to the sizes that each call chooses.
const Dimension kBatch = std::string("batch_size"), kSequence = std::string("sequence_length");

const Dimension kChoices = std::string("num_choices");

Port ids_port(std::string name, bool has_choices) {
  if (has_choices) {
    return {
        .name = std::move(name), .type = ElementType::kI64, .shape = {kBatch, kChoices, kSequence}};
  }
  return {.name = std::move(name), .type = ElementType::kI64, .shape = {kBatch, kSequence}};
}

Port logits_port(std::string name, std::vector<Dimension> shape) {
  return {.name = std::move(name), .type = ElementType::kF32, .shape = std::move(shape)};
}

// The texts' embeddings, as the config makes them of the last hidden states. [B,D]
Value embeddings(Network& network, const Value& hidden) {
  const std::vector<DenseModule>& modules = network.config.dense_modules;
  Value pooled;
  switch (network.config.pooling) {
    case Pooling::kMean:
      pooled = network.sequence_means(hidden);
      break;
    case Pooling::kCls:
      pooled = network.first_tokens(hidden);
      break;
    case Pooling::kMax: {
      const Value is_token = cast(unsqueeze(network.attention_mask, {2}), ElementType::kF32);
      pooled = largest(hidden + excluding_scores(is_token), 1);
    }
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    pooled = network.linear(pooled, dense_module_name(i));
    if (const auto activation = modules[i].activation) pooled = activate(pooled, *activation);
  }
  if (!network.config.normalizes_embeddings) return pooled;
  const Value least = constant(network.graph, 1e-12F);  // as in torch.nn.functional.normalize
  return pooled / unsqueeze(maximum(lengths(pooled, 1), least), {1});
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
    const int64_t numbers = network.config.embedding_dimension();
    network.graph.output(embedding, logits_port("sentence_embedding", {kBatch, numbers}));
  }
}

// The logits of sequences [B*N,1] as [B,N], where `ids` [B,N,S] are an input of the graph.
Value logits_of_choices(const Value& logits, const Value& ids) {
  return reshape(logits, concat({size_of_axis(ids, 0), size_of_axis(ids, 1)}, 0));
}

// Makes the outputs of the model, as make_graph() names them. `ids_of_choices` [B,N,S] are empty
// unless the inputs are of choices.
void add_outputs(Network& network, const Value& hidden, const Value& ids_of_choices) {
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
      if (ids_of_choices) {
        return graph.output(logits_of_choices(sequence_logits(network, hidden), ids_of_choices),
                            logits_port("logits", {kBatch, kChoices}));
      }
      return graph.output(sequence_logits(network, hidden),
                          logits_port("logits", {kBatch, config.num_outputs()}));
    case HeadRows::kMasked:
      return graph.output(masked_logits(network, hidden),
                          logits_port("logits", {kBatch, kSequence, config.vocab_size}));
    case HeadRows::kMaskedAndFirst:
      graph.output(masked_logits(network, hidden),
                   logits_port("prediction_logits", {kBatch, kSequence, config.vocab_size}));
      return graph.output(next_sentence_logits(network, hidden),
                          logits_port("seq_relationship_logits", {kBatch, config.num_outputs()}));
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

}  // namespace

std::unique_ptr<Graph> make_graph(const ModelConfig& config, std::span<const ParameterSpec> specs,
                                  DType dtype, bool gives_types) {
  auto graph = std::make_unique<Graph>();
  Network network{.config = config, .specs = specs, .graph = *graph, .stored = element_type(dtype)};
  const bool has_choices = traits(config.task).labels == LabelKind::kChoice;
  Value ids_of_choices;  // [B,N,S]; empty: the inputs are [B,S]
  const auto input = [&](const char* name) {
    Value ids = graph->input(ids_port(name, has_choices));
    if (!has_choices) return ids;
    ids_of_choices = ids;
    const Value all = constant(*graph, std::vector<int64_t>{-1});
    return reshape(ids, concat({all, size_of_axis(ids, 2)}, 0));  // [B*N,S]
  };
  network.input_ids = input("input_ids");
  network.attention_mask = input("attention_mask");
  if (config.has_token_types() && gives_types) network.token_type_ids = input("token_type_ids");
  graph->begin_part("padding");
  // ONNX Runtime's optimizer looks for these nodes, as PyTorch's exporter writes them, when it
  // makes one operation of attention.
  const Value mask = unsqueeze(unsqueeze(network.attention_mask, {1}), {2});
  network.padding_scores = excluding_scores(cast(mask, ElementType::kF32));  // [B,1,1,S]
  add_outputs(network, encode(network), ids_of_choices);
  return graph;
}

}  // namespace berth::onnx
