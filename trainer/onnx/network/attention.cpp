#include <cmath>

#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {

Value attend(Network& network, int64_t layer, const Value& x, const RelativePositions& positions) {
  const ModelConfig& config = network.config;
  const LayerNames names = layer_names(config, layer);
  const auto of_heads = [&](const std::string& name) {  // [B,S,A,D]
    return reshape(network.linear(x, name), {0, 0, config.num_attention_heads, config.head_size()});
  };
  const Value q = transpose(of_heads(names.query), {0, 2, 1, 3});  // [B,A,S,D]
  const Value keys = of_heads(names.key);
  const Value v = transpose(of_heads(names.value), {0, 2, 1, 3});
  Value scores = matmul(q, transpose(keys, {0, 2, 3, 1}));  // [B,A,S,S]
  if (positions) {
    const Value k = transpose(keys, {0, 2, 1, 3});
    scores = scores + relative_scores(network, layer, positions, q, k);
  }
  const double terms = positions ? 3 : 1;
  const double scale = std::sqrt(static_cast<double>(config.head_size()) * terms);
  scores = scores / constant(network.graph, static_cast<float>(scale));
  const Value probabilities = softmax(scores + network.padding_scores);
  const Value attended = transpose(matmul(probabilities, v), {0, 2, 1, 3});
  return reshape(attended, {0, 0, config.hidden_size});
}

}  // namespace berth::onnx
