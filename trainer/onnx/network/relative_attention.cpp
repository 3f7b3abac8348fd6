#include <vector>

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"
#include "trainer/onnx/network/network.h"

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
Value shift_rows(const RelativePositions& positions, const Value& x) {
  const Value flat = slice(reshape(x, {0, 0, -1}), 2, positions.first, positions.end);
  const Value shifted = reshape(flat, positions.shape);  // [B,A,S,2S-1]
  return slice(shifted, 3, constant(*x.graph, std::vector<int64_t>{0}), positions.length);
}

}  // namespace

// Which row a distance has is looked up in a constant, because the rounding of logarithms decides
// it. Longer distances than the constant's have the rows of its ends, so sequences may be as long
// as they like.
RelativePositions relative_positions(Network& network) {
  Graph& graph = network.graph;
  const ModelConfig& config = network.config;
  graph.begin_part("relative_positions");
  const RelativePositionNames names = relative_position_names(config);
  Value table = network.parameter(names.table + ".weight");
  if (!names.norm.empty()) table = network.layer_norm(table, names.norm);

  const int64_t farthest = farthest_distance(config);
  std::vector<int64_t> rows;
  for (int64_t i = -farthest; i <= farthest; ++i) rows.push_back(relative_row(config, i));
  const Value rows_by_distance = constant(graph, rows), middle = constant(graph, farthest);
  const auto rows_of = [&](const Value& distances) {
    return gather(rows_by_distance, clip(distances, -farthest, farthest) + middle);
  };
  const Value one = constant(graph, std::vector<int64_t>{1});
  const Value length = network.length(), first = length - one, width = length + first;
  const Value offsets =
      range(squeeze(one - length, {0}), squeeze(length + one, {0}));  // int64 [2S]
  // The distance is query minus key.
  return {.table = table,
          .of_keys = rows_of(negate(offsets)),
          .of_queries = rows_of(offsets),
          .first = first,
          .end = first + length * width,
          .shape = concat({constant(graph, std::vector<int64_t>{0, 0, -1}), width}, 0),
          .length = length};
}

void add_position_bias(Network& network) {
  if (network.config.position_bias_buckets == 0) return;
  Graph& graph = network.graph;
  graph.begin_part("position_bias");
  constexpr int64_t kFarthest = 128;  // it and all longer distances share rows
  std::vector<int64_t> rows;
  for (int64_t i = -kFarthest; i <= kFarthest; ++i) rows.push_back(position_bias_row(i));
  const Value place = range(constant(graph, int64_t{0}), squeeze(network.length(), {0}));
  const Value distance = unsqueeze(place, {1}) - unsqueeze(place, {0});  // query minus key, [S,S]
  const Value row = gather(constant(graph, rows),
                           clip(distance, -kFarthest, kFarthest) + constant(graph, kFarthest));
  network.position_bias =
      transpose(network.rows(position_bias_name(network.config), row), {2, 0, 1});
}

Value relative_scores(Network& network, int64_t layer, const RelativePositions& positions,
                      const Value& q, const Value& k) {
  const ModelConfig& config = network.config;
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

}  // namespace berth::onnx
