#include <numeric>
#include <vector>

#include "trainer/model/part_names.h"
#include "trainer/model/relative_row.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
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

}  // namespace

Value position_bias(const ForwardPass& pass) {
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

Value relative_positions(const ForwardPass& pass) {
  const RelativePositionNames names = relative_position_names(pass.config);
  const Value table = pass.parameter(names.table + ".weight");
  return names.norm.empty() ? table : pass.layer_norm(table, names.norm);
}

Value relative_scores(ForwardPass& pass, int64_t layer, Value positions, Value q, Value k) {
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

}  // namespace berth
