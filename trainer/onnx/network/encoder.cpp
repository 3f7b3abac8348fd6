#include "storage/base/text.h"
#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {
namespace {

// What a half of a layer makes: the sum of its input and its output, and that sum normalized.
struct Normalized {
  Value y, sum;
};

// activation(dense(x)), or of a gated layer activation(a) * b with the halves a and b of dense(x),
// or with a = gate(x): [B,S,F].
Value widen(Network& network, const Value& x, const LayerNames& names) {
  const ModelConfig& config = network.config;
  const Value wide = network.linear(x, names.intermediate);
  if (!config.is_gated) return activate(wide, config.hidden_act);
  if (!names.gate.empty()) return activate(network.linear(x, names.gate), config.hidden_act) * wide;
  const std::vector<Value> halves =
      split(wide, 2, {config.intermediate_size, config.intermediate_size});
  return activate(halves[0], config.hidden_act) * halves[1];
}

// What follows attention in a layer. Each half adds its output to its input, which is the
// normalized one unless the layers normalize first, and normalizes the sum.
Normalized finish_layer(Network& network, int64_t layer, const Normalized& x,
                        const Value& attended) {
  const ModelConfig& config = network.config;
  const LayerNames names = layer_names(config, layer);
  const auto add_to = [&](const Normalized& input, const Value& output, const std::string& norm) {
    const Value sum = output + (config.normalizes_first ? input.sum : input.y);
    return Normalized{.y = network.layer_norm(sum, norm), .sum = sum};
  };
  const Normalized middle =
      add_to(x, network.linear(attended, names.attention_output), names.attention_norm);
  network.graph.begin_part(cat("layer.", layer, "/feed_forward"));
  const Value wide = widen(network, middle.y, names);
  return add_to(middle, network.linear(wide, names.output), names.output_norm);
}

}  // namespace

Value encode(Network& network) {
  const ModelConfig& config = network.config;
  Normalized x;
  x.y = x.sum = embed(network);
  RelativePositions positions;
  if (config.has_relative_positions()) positions = relative_positions(network);
  add_rotary_positions(network);
  add_local_scores(network);
  add_position_bias(network);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    network.graph.begin_part(cat("layer.", layer, "/attention"));
    const Value before = x.y;
    x = finish_layer(network, layer, x, attend(network, layer, before, positions));
    const bool has_convolution = layer == 0 && config.conv_kernel_size > 0;
    if (has_convolution) x.y = convolve(network, before, x.y);
  }
  return x.y;
}

}  // namespace berth::onnx
