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
  const auto joined = [&](const std::string& end) {
    return concatenate({pass.parameter(names.query + end), pass.parameter(names.key + end),
                        pass.parameter(names.value + end)},
                       0);
  };
  const Value qkv = add_to_rows(pass.product(x, joined(".weight")), joined(".bias"));  // [T,3H]
  const Dims& tokens = pass.batch.segment.shape();
  const auto part = [&](LayerPart which) {
    const int64_t first = static_cast<int64_t>(which) * config.hidden_size;
    const Value y = pass.add_adapter(slice(qkv, 1, first, first + config.hidden_size), x, layer,
                                     which, adapter_site(layer, which), token_rows(pass));
    return transpose(
        reshape(y, {tokens[0], tokens[1], config.num_attention_heads, config.head_size()}),
        {0, 2, 1, 3});
  };
  return {.q = part(LayerPart::kQuery), .k = part(LayerPart::kKey), .v = part(LayerPart::kValue)};
}

// Over the last dimension.
Value softmax(Value scores) {
  const Dims rows = {0, 1, 2};
  const Value most = broadcast(reduce_max(scores, {3}), scores.shape(), rows);
  const Value powers = exp(scores - most);
  return powers / broadcast(reduce_sum(powers, {3}), scores.shape(), rows);
}

// Whether query and key are of one sequence: kPred [R,S,S].
Value same_sequence(const ForwardPass& pass) {
  const Value segment = pass.batch.segment;
  const Dims shape = {segment.size(0), segment.size(1), segment.size(1)};
  return compare(broadcast(segment, shape, {0, 1}), Comparison::kEqual,
                 broadcast(segment, shape, {0, 2}));
}

// The number of eight columns with which each token's sequence begins: u32 [R,S].
Value first_blocks(const ForwardPass& pass) {
  const Value place = pass.batch.place;
  const Value column = iota(pass.graph(), ElementType::kS32, place.shape(), 1);
  return shift_right(convert(column - place, ElementType::kU32), 3);
}

}  // namespace

// Vaswani et al. 2017, arXiv:1706.03762, section 3.2.
Value attend(ForwardPass& pass, int64_t layer, Value x, Value positions) {
  const ModelConfig& config = pass.config;
  const auto [q, k, v] = project(pass, layer, x);
  const Dims batch = {0, 1};
  Value scores =
      dot(pass.rounded(q), pass.rounded(k),
          {.contracted_x = {3}, .contracted_y = {3}, .batch_x = batch, .batch_y = batch});
  if (positions) scores = scores + relative_scores(pass, layer, positions, q, k);
  const double terms = positions ? 3 : 1;
  scores = scores * (1 / std::sqrt(static_cast<double>(config.head_size()) * terms));
  scores = select(broadcast(same_sequence(pass), scores.shape(), {0, 2, 3}), scores, -1e30);
  Value probabilities = softmax(scores);  // [R,A,S,S]
  if (pass.masks) {
    probabilities =
        pass.masks->drop_probabilities(probabilities, config.attention_probs_dropout_prob,
                                       layer_site(layer, LayerSite::kAttentionProbabilities),
                                       pass.batch.token_number, first_blocks(pass));
  }
  const Value attended =
      dot(pass.rounded(probabilities), pass.rounded(v),
          {.contracted_x = {3}, .contracted_y = {2}, .batch_x = batch, .batch_y = batch});
  return reshape(transpose(attended, {0, 2, 1, 3}), x.shape());  // [R,A,S,D] to [T,H]
}

}  // namespace berth
