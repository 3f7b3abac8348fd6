#include <cmath>

#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {

namespace {

// Queries, keys and values, each [B,S,A,D].
std::vector<Value> project(Network& network, int64_t layer, const Value& x) {
  const ModelConfig& config = network.config;
  const LayerNames names = layer_names(config, layer);
  const int64_t hidden = config.hidden_size;
  std::vector<Value> parts;
  if (names.qkv.empty()) {
    for (const std::string& name : {names.query, names.key, names.value}) {
      parts.push_back(network.linear(x, name));
    }
  } else {
    parts = split(network.linear(x, names.qkv), 2, {hidden, hidden, hidden});
  }
  for (Value& part : parts) {
    part = reshape(part, {0, 0, config.num_attention_heads, config.head_size()});
  }
  return parts;
}

// What is added to the scores of a layer.
Value excluded(const Network& network, int64_t layer) {
  const auto local = network.local_scores.find(network.config.attention_window(layer));
  return local == network.local_scores.end() ? network.padding_scores : local->second;
}

}  // namespace

Value Network::attend(int64_t layer, const Value& x) {
  const std::vector<Value> parts = project(*this, layer, x);
  const Value q = rotate(*this, layer, transpose(parts[0], {0, 2, 1, 3}));  // [B,A,S,D]
  const Value v = transpose(parts[2], {0, 2, 1, 3});
  Value k, k_transposed;  // of these, only what is needed
  if (rotary.empty()) {
    k_transposed = transpose(parts[1], {0, 2, 3, 1});
    if (relative.table) k = transpose(parts[1], {0, 2, 1, 3});
  } else {
    k = rotate(*this, layer, transpose(parts[1], {0, 2, 1, 3}));
    k_transposed = transpose(k, {0, 1, 3, 2});
  }
  Value scores = matmul(q, k_transposed);  // [B,A,S,S]
  if (relative.table) scores = scores + relative_scores(*this, layer, q, k);
  const double terms = relative.table ? 3 : 1;
  const double scale = std::sqrt(static_cast<double>(config.head_size()) * terms);
  scores = scores / constant(graph, static_cast<float>(scale));
  if (position_bias) scores = scores + position_bias;
  const Value probabilities = softmax(scores + excluded(*this, layer));
  const Value attended = transpose(matmul(probabilities, v), {0, 2, 1, 3});
  return reshape(attended, {0, 0, config.hidden_size});
}

}  // namespace berth::onnx
