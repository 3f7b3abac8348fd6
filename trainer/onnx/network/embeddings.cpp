#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {
namespace {

// The numbers of the tokens' positions: int64 [S], or [B,S] where only some tokens count. RoBERTa
// numbers the tokens of a sequence that are not its padding id. The first number is the padding id
// plus one. The other tokens have the position of the padding.
Value position_ids(const Network& network) {
  Graph& graph = network.graph;
  const ModelConfig& config = network.config;
  if (!config.counts_from_padding()) {
    return range(constant(graph, int64_t{0}), squeeze(network.length(), {0}));
  }
  const Value padding = constant(graph, config.pad_token_id);
  const Value counts =
      cast(logical_not(equal(network.input_ids, padding)), ElementType::kI64);  // [B,S]
  return cumulative_sum(counts, 1) * counts + padding;
}

}  // namespace

Value embed(Network& network) {
  Graph& graph = network.graph;
  graph.begin_part("embeddings");
  const EmbeddingNames names = embedding_names(network.config);
  Value x = network.rows(names.word, network.input_ids);
  if (!names.token_type.empty()) {
    const Value types =
        network.token_type_ids ? network.token_type_ids : constant(graph, int64_t{0});
    x = x + network.rows(names.token_type, types);
  }
  if (!names.position.empty()) x = x + network.rows(names.position, position_ids(network));
  x = network.layer_norm(x, names.norm);
  return names.projection.empty() ? x : network.linear(x, names.projection);
}

}  // namespace berth::onnx
