#include <cmath>
#include <vector>

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"
#include "trainer/xla/network/forward_pass.h"

// What attention knows of the places of tokens: relative positions, rotary positions and biases by
// distance.
namespace berth {

using stablehlo::concatenate;

namespace {

// From scores x [R,A,S,2S-1], whose last dimension counts an offset from -(S-1) on, to [R,A,S,S]:
// result[..., i, j] is the score of row i at offset j - i. Rows of 2S elements that are read as
// rows of 2S-1 elements shift by one a row (Dai et al. 2019, arXiv:1901.02860, appendix B).
Value shift_rows(Value x) {
  const int64_t rows = x.size(0), heads = x.size(1), length = x.size(2);
  const Value flat = reshape(pad(x, 3, 0, 1), {rows, heads, 2 * length * length});
  const int64_t first = length - 1, elements = length * (2 * length - 1);
  const Value shifted =
      reshape(slice(flat, 2, first, first + elements), {rows, heads, length, 2 * length - 1});
  return slice(shifted, 3, 0, length);
}

// MPNet's biases of scores by distance: [A,S,S].
Value biases_by_distance(const ForwardPass& pass) {
  const int64_t heads = pass.config.num_attention_heads;
  const int64_t length = pass.batch.segment.size(1);
  std::vector<int32_t> taken;
  for (int64_t offset = 1 - length; offset < length; ++offset) {
    taken.push_back(position_bias_row(-offset));
  }
  const Value of_offsets = gather_rows(pass.parameter(position_bias_name(pass.config) + ".weight"),
                                       constant(pass.graph(), taken));  // [2S-1,A]
  const Value of_queries =
      broadcast(transpose(of_offsets, {1, 0}), {1, heads, length, 2 * length - 1}, {1, 3});
  return reshape(shift_rows(of_queries), {heads, length, length});
}

}  // namespace

void ForwardPass::add_positions() {
  if (config.has_relative_positions()) {
    const RelativePositionNames names = relative_position_names(config);
    relative_table = parameter(names.table + ".weight");
    if (!names.norm.empty()) relative_table = layer_norm(relative_table, names.norm);
  }
  if (config.position_bias_buckets > 0) position_bias = biases_by_distance(*this);
}

Value relative_scores(ForwardPass& pass, int64_t layer, Value q, Value k) {
  const Value positions = pass.relative_table;  // [P,H]
  const ModelConfig& config = pass.config;
  const LayerNames names = layer_names(config, layer);
  const int64_t rows = q.size(0), heads = q.size(1), length = q.size(2), size = q.size(3);
  const Value numbers = iota(pass.graph(), ElementType::kU32, {positions.size(0)}, 0);
  const Value dropped =
      pass.dropout(positions, config.hidden_dropout_prob,
                   layer_site(layer, LayerSite::kRelativePositions), numbers);  // [P,H]
  // [A,2S-1,D]: the query or key of the relative position of each distance, query minus key.
  const auto of_distances = [&](const std::string& name, LayerPart part, bool grows) {
    std::vector<int32_t> taken;
    for (int64_t i = 1 - length; i < length; ++i) {
      taken.push_back(relative_row(config, grows ? i : -i));
    }
    const Value all = pass.add_adapter(pass.linear(dropped, name), dropped, layer, part,
                                       position_adapter_site(layer, part), numbers);
    const Value each = gather_rows(all, constant(pass.graph(), taken));
    return transpose(reshape(each, {2 * length - 1, heads, size}), {1, 0, 2});
  };
  // x [R,A,S,D] by [A,2S-1,D] to [R,A,S,2S-1].
  const auto multiply = [&](Value x, Value of_positions) {
    const Value of_heads = reshape(transpose(x, {1, 0, 2, 3}), {heads, rows * length, size});
    const Value scores = pass.rounded_dot(
        of_heads, of_positions,
        {.contracted_x = {2}, .contracted_y = {2}, .batch_x = {0}, .batch_y = {0}});
    return transpose(reshape(scores, {heads, rows, length, 2 * length - 1}), {1, 0, 2, 3});
  };
  // A query at i and a key at j are i - j apart, which falls along a query's row, and grows along a
  // key's.
  const Value c2p = multiply(q, of_distances(names.key, LayerPart::kKey, /*grows=*/false));
  const Value p2c = multiply(k, of_distances(names.query, LayerPart::kQuery, /*grows=*/true));
  return shift_rows(c2p) + transpose(shift_rows(p2c), {0, 1, 3, 2});
}

Value rotate(const ForwardPass& pass, int64_t layer, Value x) {
  const int64_t half = x.size(3) / 2;
  // The frequency of element i is base^(-2i/D).
  const double step = -std::log(pass.config.rope_base(layer)) / static_cast<double>(half);
  const Value index = convert(iota(pass.graph(), ElementType::kS32, {half}, 0), ElementType::kF32);
  const Value positions = convert(pass.batch.position_ids, ElementType::kF32);  // [R,S]
  const Dims shape = {x.size(0), x.size(2), half};
  const Value angles =
      broadcast(positions, shape, {0, 1}) * broadcast(exp(index * step), shape, {2});
  const Dims all = {x.size(0), x.size(1), x.size(2), half};
  const Value cosines = broadcast(cos(angles), all, {0, 2, 3});
  const Value sines = broadcast(sin(angles), all, {0, 2, 3});
  const Value first = slice(x, 3, 0, half), second = slice(x, 3, half, 2 * half);
  return concatenate({first * cosines - second * sines, second * cosines + first * sines}, 3);
}

}  // namespace berth
