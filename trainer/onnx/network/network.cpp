#include "trainer/onnx/network/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "storage/base/error.h"
#include "trainer/model/part_names.h"
#include "trainer/model/table_rows.h"

namespace berth::onnx {

Value Network::stored_parameter(const std::string& name, bool is_transposed) const {
  const auto found = std::ranges::find(specs, name, &ParameterSpec::name);
  if (found == specs.end()) throw Error(Code::kInternal, "no such parameter", name);
  return graph.parameter(name, static_cast<size_t>(found - specs.begin()), stored, found->shape,
                         is_transposed);
}

bool Network::has(const std::string& name) const {
  return std::ranges::find(specs, name, &ParameterSpec::name) != specs.end();
}

Value Network::parameter(const std::string& name, bool is_transposed) {
  const Value value = stored_parameter(name, is_transposed);
  if (stored == ElementType::kF32) return value;
  const auto [place, is_new] = as_fp32.try_emplace(value.name);
  if (is_new) place->second = cast(value, ElementType::kF32);
  return place->second;
}

Value Network::rows(const std::string& name, const Value& numbers) const {
  const Value rows = gather(stored_parameter(name + ".weight", /*is_transposed=*/false), numbers);
  return stored == ElementType::kF32 ? rows : cast(rows, ElementType::kF32);
}

Value Network::linear(const Value& x, const std::string& name) {
  const Value y = matmul(x, parameter(name + ".weight", /*is_transposed=*/true));
  return has(name + ".bias") ? y + parameter(name + ".bias") : y;
}

Value Network::layer_norm(const Value& x, const std::string& name) {
  const Value bias = has(name + ".bias") ? parameter(name + ".bias") : Value();
  return layer_normalization(x, parameter(name + ".weight"), bias, config.layer_norm_eps);
}

std::array<Value, 2> Network::halves(const Value& x) {
  const std::vector<Value> parts =
      split(x, 2, {config.intermediate_size, config.intermediate_size});
  return {parts[0], parts[1]};
}

// The numbers of the tokens' positions: int64 [S], or [B,S] where only some tokens count. RoBERTa
// numbers the tokens that are no padding, and begins behind the padding's id. Padding has the
// position of its id.
Value Network::position_ids() const {
  if (!config.counts_from_padding()) {
    return range(constant(graph, int64_t{0}), squeeze(length(), {0}));
  }
  const Value padding = constant(graph, config.pad_token_id);
  const Value counts = cast(logical_not(equal(input_ids, padding)), ElementType::kI64);  // [B,S]
  return cumulative_sum(counts, 1) * counts + padding;
}

Value Network::embedding_sum(const EmbeddingNames& names) {
  Value x = rows(names.word, input_ids);
  if (!names.token_type.empty()) {
    x = x + rows(names.token_type, token_type_ids ? token_type_ids : constant(graph, int64_t{0}));
  }
  if (!names.task_type.empty()) x = x + rows(names.task_type, constant(graph, int64_t{0}));
  return names.position.empty() ? x : x + rows(names.position, position_ids());
}

// A token beside the padding sees zeros there, as it does at the end of a sequence.
Value Network::convolution(const Value& x, const std::string& name) {
  const Value is_token = unsqueeze(cast(attention_mask, ElementType::kF32), {2});  // [B,S,1]
  const Value columns = transpose(x * is_token, {0, 2, 1});                        // [B,H,S]
  const Value y = onnx::convolution(columns, parameter(name + ".weight"), parameter(name + ".bias"),
                                    config.conv_kernel_size);
  return transpose(y, {0, 2, 1});
}

// The file holds the word embeddings once.
Value Network::vocabulary_logits(const Value& x, const MaskedLmHeadNames& names) {
  const Value decoder = parameter(names.decoder);
  return matmul(x, transpose(decoder, {1, 0})) + parameter(names.bias);
}

Value Network::first_tokens(const Value& x) {
  return gather(x, constant(graph, int64_t{0}), 1);  // [B,H]
}

// Of the tokens that are no padding: [B,H].
Value Network::sequence_means(const Value& x) {
  const Value is_token = cast(attention_mask, ElementType::kF32);  // [B,S]
  const Value sums = squeeze(matmul(unsqueeze(is_token, {1}), x), {1});
  return sums / sum(is_token, 1);
}

Value activate(const Value& x, Activation activation) {
  const auto number = [&](float value) { return constant(*x.graph, value); };
  switch (activation) {
    case Activation::kGelu:
      return x * (erf(x / number(std::numbers::sqrt2_v<float>)) + number(1)) * number(0.5F);
    case Activation::kGeluTanh: {
      const Value inner = (x + x * x * x * number(0.044715F)) *
                          number(std::sqrt(2 * std::numbers::inv_pi_v<float>));
      return x * (tanh(inner) + number(1)) * number(0.5F);
    }
    case Activation::kRelu:
      return relu(x);
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kTanh:
      break;
  }
  return tanh(x);
}

Value excluding_scores(const Value& is_kept) {
  Graph& graph = *is_kept.graph;
  return (constant(graph, 1.0F) - is_kept) *
         constant(graph, std::numeric_limits<float>::lowest() / 2);
}

// ---- Attention, and what it knows of the places of tokens ---------------------------------------

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
  // All in terms of the length S of the batch, which the graph learns when it is called.
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
  const auto turn = [&](const Value& a, const Value& b) {
    return std::vector<Value>{a * cosines - b * sines, b * cosines + a * sines};
  };
  if (!network.config.rotary_turns_neighbours) {
    const std::vector<Value> halves = split(x, 3, {half, half});
    return concat(turn(halves[0], halves[1]), 3);
  }
  // A size of 0 stays as it is.
  const std::vector<Value> pairs = split(reshape(x, {0, 0, 0, half, 2}), 4, {1, 1});
  const std::vector<Value> turned =
      turn(reshape(pairs[0], {0, 0, 0, half}), reshape(pairs[1], {0, 0, 0, half}));
  return reshape(concat({unsqueeze(turned[0], {4}), unsqueeze(turned[1], {4})}, 4),
                 {0, 0, 0, 2 * half});
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
  // scores [B,A,S,S], with padding and windows excluded by a large negative addend.
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
