#include <cmath>

#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {

using stablehlo::concatenate;

namespace {

// Queries, keys and values by one product, each [R,A,S,D].
struct Projections {
  Value q, k, v;
};

Projections project(ForwardPass& pass, int64_t layer, Value x) {
  const ModelConfig& config = pass.config;
  const LayerNames names = layer_names(config, layer);
  const bool is_joined = !names.qkv.empty();  // in the file, too
  const auto joined = [&](const std::string& end) {
    if (is_joined) return pass.parameter(names.qkv + end);
    return concatenate({pass.parameter(names.query + end), pass.parameter(names.key + end),
                        pass.parameter(names.value + end)},
                       0);
  };
  Value qkv = pass.product(x, joined(".weight"));  // [T,3H]
  if (pass.has((is_joined ? names.qkv : names.query) + ".bias")) {
    qkv = add_to_rows(qkv, joined(".bias"));
  }
  const auto adapted = [&](Value y, LayerPart which) {
    return pass.add_adapter(y, x, layer, which, adapter_site(layer, which), pass.token_rows());
  };
  if (is_joined) qkv = adapted(qkv, LayerPart::kQuery);
  const Dims& tokens = pass.batch.segment.shape();
  const auto part = [&](LayerPart which) {
    const int64_t first = static_cast<int64_t>(which) * config.hidden_size;
    Value y = slice(qkv, 1, first, first + config.hidden_size);
    if (!is_joined) y = adapted(y, which);
    return transpose(
        reshape(y, {tokens[0], tokens[1], config.num_attention_heads, config.head_size()}),
        {0, 2, 1, 3});
  };
  Projections all{
      .q = part(LayerPart::kQuery), .k = part(LayerPart::kKey), .v = part(LayerPart::kValue)};
  if (config.rope_theta > 0) {
    all.q = rotate(pass, layer, all.q);
    all.k = rotate(pass, layer, all.k);
  }
  return all;
}

// Whether a query may see a key: kPred [R,S,S]. They are of one sequence and, with local attention,
// no farther apart than the layer's window.
Value is_visible(const ForwardPass& pass, int64_t layer) {
  const Value segment = pass.batch.segment;
  const Dims shape = {segment.size(0), segment.size(1), segment.size(1)};
  const auto compared = [&shape](Value x, Comparison comparison, Value y) {
    return compare(broadcast(x, shape, {0, 1}), comparison, broadcast(y, shape, {0, 2}));
  };
  const Value is_same = compared(segment, Comparison::kEqual, segment);
  const int64_t window = pass.config.attention_window(layer);
  if (window < 0) return is_same;
  const Value place = pass.batch.place;
  const Value farthest = place + static_cast<double>(window);
  return is_same & compared(place, Comparison::kLessEqual, farthest) &
         compared(farthest, Comparison::kGreaterEqual, place);
}

// The number of eight columns with which each token's sequence begins: u32 [R,S].
Value first_blocks(const ForwardPass& pass) {
  const Value place = pass.batch.place;
  const Value column = iota(pass.graph(), ElementType::kS32, place.shape(), 1);
  return shift_right(convert(column - place, ElementType::kU32), 3);
}

}  // namespace

Value ForwardPass::attend(int64_t layer, Value x) {
  const auto [q, k, v] = project(*this, layer, x);
  const Dims outer = {0, 1};
  Value scores = rounded_dot(
      q, k, {.contracted_x = {3}, .contracted_y = {3}, .batch_x = outer, .batch_y = outer});
  if (relative_table) scores = scores + relative_scores(*this, layer, q, k);
  const double terms = relative_table ? 3 : 1;
  scores = scores * (1 / std::sqrt(static_cast<double>(config.head_size()) * terms));
  if (position_bias) {
    scores = scores + broadcast(position_bias, scores.shape(), {1, 2, 3});
  }
  scores = select(broadcast(is_visible(*this, layer), scores.shape(), {0, 2, 3}), scores, -1e30);
  const Value probabilities = softmax(scores, [&](Value p) {  // [R,A,S,S]
    if (!masks) return rounded(p);
    return rounded(masks->drop_probabilities(p, config.attention_probs_dropout_prob,
                                             layer_site(layer, LayerSite::kAttentionProbabilities),
                                             batch.token_number, first_blocks(*this)));
  });
  const Value attended =
      rounded_dot(probabilities, v,
                  {.contracted_x = {3}, .contracted_y = {2}, .batch_x = outer, .batch_y = outer});
  return reshape(transpose(attended, {0, 2, 1, 3}), x.shape());  // [R,A,S,D] to [T,H]
}

}  // namespace berth
