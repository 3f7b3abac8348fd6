#include <cmath>

#include "trainer/onnx/network/network.h"

namespace berth::onnx {
namespace {

// The numbers of the tokens in their sequence: fp32 [S].
Value places(const Network& network) {
  const Value zero = constant(network.graph, int64_t{0});
  return cast(range(zero, squeeze(network.length(), {0})), ElementType::kF32);
}

}  // namespace

// The frequency of element i is base^(-2i/D).
void add_rotary_positions(Network& network) {
  const ModelConfig& config = network.config;
  network.graph.begin_part("rotary_positions");
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const double base = config.rope_base(layer);
    if (base <= 0 || network.rotary.contains(base)) continue;
    std::vector<float> frequencies;
    for (int64_t i = 0; i < config.head_size(); i += 2) {
      const double exponent = -static_cast<double>(i) / static_cast<double>(config.head_size());
      frequencies.push_back(static_cast<float>(std::pow(base, exponent)));
    }
    const Value angles =
        unsqueeze(places(network), {1}) * constant(network.graph, frequencies);  // [S,D/2]
    network.rotary[base] = {.cosines = cos(angles), .sines = sin(angles)};
  }
}

Value rotate(const Network& network, int64_t layer, const Value& x) {
  const auto found = network.rotary.find(network.config.rope_base(layer));
  if (found == network.rotary.end()) return x;
  const auto& [cosines, sines] = found->second;
  const int64_t half = network.config.head_size() / 2;
  const std::vector<Value> halves = split(x, 3, {half, half});
  return concat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines},
                3);
}

void add_local_scores(Network& network) {
  const ModelConfig& config = network.config;
  network.graph.begin_part("local_attention");
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const int64_t window = config.attention_window(layer);
    if (window < 0 || network.local_scores.contains(window)) continue;
    const Value place = places(network);
    const Value distance = abs(unsqueeze(place, {1}) - unsqueeze(place, {0}));  // [S,S]
    const Value is_near =
        less_or_equal(distance, constant(network.graph, static_cast<float>(window)));
    network.local_scores[window] =
        network.padding_scores + excluding_scores(cast(is_near, ElementType::kF32));
  }
}

}  // namespace berth::onnx
