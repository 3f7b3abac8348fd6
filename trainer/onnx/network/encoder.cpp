#include "storage/base/text.h"
#include "trainer/model/part_names.h"
#include "trainer/onnx/network/network.h"

namespace berth::onnx {
namespace {

// What follows attention in a layer: both halves of the layer add their output to their input and
// normalize the sum.
Value finish_layer(Network& network, int64_t layer, const Value& x, const Value& attended) {
  const LayerNames names = layer_names(network.config, layer);
  const Value middle = network.layer_norm(network.linear(attended, names.attention_output) + x,
                                          names.attention_norm);
  network.graph.begin_part(cat("layer.", layer, "/feed_forward"));
  const Value wide =
      activate(network.linear(middle, names.intermediate), network.config.hidden_act);  // [B,S,F]
  return network.layer_norm(network.linear(wide, names.output) + middle, names.output_norm);
}

}  // namespace

Value encode(Network& network) {
  const ModelConfig& config = network.config;
  Value x = embed(network);
  RelativePositions positions;
  if (config.has_relative_positions()) positions = relative_positions(network);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    network.graph.begin_part(cat("layer.", layer, "/attention"));
    const Value attended = attend(network, layer, x, positions);
    const Value output = finish_layer(network, layer, x, attended);
    const bool has_convolution = layer == 0 && config.conv_kernel_size > 0;
    x = has_convolution ? convolve(network, x, output) : output;
  }
  return x;
}

}  // namespace berth::onnx
