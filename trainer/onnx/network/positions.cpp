#include <cmath>
#include <vector>

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"
#include "trainer/onnx/network/network.h"

// What attention knows of the places of tokens: relative positions, rotary positions, windows and
// biases by distance.
namespace berth::onnx {
namespace {

// The least distance from which on all distances have the last row of the table, and their
// negatives the first one.
int64_t farthest_distance(const ModelConfig& config) {
  int64_t distance = 1;
  const int64_t last = 2 * config.relative_span() - 1;
  while (relative_row(config, distance) < last || relative_row(config, -distance) > 0) ++distance;
  return distance;
}

// From scores x [B,A,S,2S], whose last axis counts an offset from -(S-1) on, to [B,A,S,S]:
// result[..., i, j] is the score of row i at offset j - i. Rows of 2S elements that are read as
// rows of 2S-1 elements shift by one a row (Dai et al. 2019, arXiv:1901.02860, appendix B).
Value shift_rows(const Network::RelativePositions& positions, const Value& x) {
  const Value flat = slice(reshape(x, {0, 0, -1}), 2, positions.first, positions.end);
  const Value shifted = reshape(flat, positions.shape);  // [B,A,S,2S-1]
  return slice(shifted, 3, constant(*x.graph, std::vector<int64_t>{0}), positions.length);
}

// The numbers of the tokens in their sequence: fp32 [S].
Value places(const Network& network) {
  const Value zero = constant(network.graph, int64_t{0});
  return cast(range(zero, squeeze(network.length(), {0})), ElementType::kF32);
}

}  // namespace

void Network::add_positions() {
  add_relative_positions();
  add_rotary_positions();
  add_local_scores();
  add_position_bias();
}

// Which row a distance has is looked up in a constant, because the rounding of logarithms decides
// it. Longer distances than the constant's have the rows of its ends, so sequences may be as long
// as they like.
void Network::add_relative_positions() {
  if (!config.has_relative_positions()) return;
  graph.begin_part("relative_positions");
  const RelativePositionNames names = relative_position_names(config);
  Value table = parameter(names.table + ".weight");
  if (!names.norm.empty()) table = layer_norm(table, names.norm);

  const int64_t farthest = farthest_distance(config);
  std::vector<int64_t> numbers;
  for (int64_t i = -farthest; i <= farthest; ++i) numbers.push_back(relative_row(config, i));
  const Value rows_by_distance = constant(graph, numbers), middle = constant(graph, farthest);
  const auto rows_of = [&](const Value& distances) {
    return gather(rows_by_distance, clip(distances, -farthest, farthest) + middle);
  };
  const Value one = constant(graph, std::vector<int64_t>{1});
  const Value tokens = length(), first = tokens - one, width = tokens + first;
  const Value offsets =
      range(squeeze(one - tokens, {0}), squeeze(tokens + one, {0}));  // int64 [2S]
  // The distance is query minus key.
  relative = {.table = table,
              .of_keys = rows_of(negate(offsets)),
              .of_queries = rows_of(offsets),
              .first = first,
              .end = first + tokens * width,
              .shape = concat({constant(graph, std::vector<int64_t>{0, 0, -1}), width}, 0),
              .length = tokens};
}

void Network::add_position_bias() {
  if (config.position_bias_buckets == 0) return;
  graph.begin_part("position_bias");
  constexpr int64_t kFarthest = 128;  // it and all longer distances share rows
  std::vector<int64_t> numbers;
  for (int64_t i = -kFarthest; i <= kFarthest; ++i) numbers.push_back(position_bias_row(i));
  const Value place = range(constant(graph, int64_t{0}), squeeze(length(), {0}));
  const Value distance = unsqueeze(place, {1}) - unsqueeze(place, {0});  // query minus key, [S,S]
  const Value row = gather(constant(graph, numbers),
                           clip(distance, -kFarthest, kFarthest) + constant(graph, kFarthest));
  position_bias = transpose(rows(position_bias_name(config), row), {2, 0, 1});
}

Value relative_scores(Network& network, int64_t layer, const Value& q, const Value& k) {
  const ModelConfig& config = network.config;
  const Network::RelativePositions& positions = network.relative;
  const LayerNames names = layer_names(config, layer);
  // The scores [B,A,S,2S] of x [B,A,S,D] with the key or query of the position at each offset.
  const auto multiply = [&](const Value& x, const std::string& name, const Value& rows) {
    const Value of_offsets = gather(network.linear(positions.table, name), rows);  // [2S,H]
    const Value of_heads = reshape(of_offsets, {0, config.num_attention_heads, config.head_size()});
    return matmul(x, transpose(of_heads, {1, 2, 0}));
  };
  const Value c2p = multiply(q, names.key, positions.of_keys);
  const Value p2c = multiply(k, names.query, positions.of_queries);
  return shift_rows(positions, c2p) + transpose(shift_rows(positions, p2c), {0, 1, 3, 2});
}

// The frequency of element i is base^(-2i/D).
void Network::add_rotary_positions() {
  graph.begin_part("rotary_positions");
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const double base = config.rope_base(layer);
    if (base <= 0 || rotary.contains(base)) continue;
    std::vector<float> frequencies;
    for (int64_t i = 0; i < config.head_size(); i += 2) {
      const double exponent = -static_cast<double>(i) / static_cast<double>(config.head_size());
      frequencies.push_back(static_cast<float>(std::pow(base, exponent)));
    }
    const Value angles = unsqueeze(places(*this), {1}) * constant(graph, frequencies);  // [S,D/2]
    rotary[base] = {.cosines = cos(angles), .sines = sin(angles)};
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

void Network::add_local_scores() {
  graph.begin_part("local_attention");
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const int64_t window = config.attention_window(layer);
    if (window < 0 || local_scores.contains(window)) continue;
    const Value place = places(*this);
    const Value distance = abs(unsqueeze(place, {1}) - unsqueeze(place, {0}));  // [S,S]
    const Value is_near = less_or_equal(distance, constant(graph, static_cast<float>(window)));
    local_scores[window] = padding_scores + excluding_scores(cast(is_near, ElementType::kF32));
  }
}

}  // namespace berth::onnx
