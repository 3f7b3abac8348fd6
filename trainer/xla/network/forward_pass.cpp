#include "trainer/xla/network/forward_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "storage/base/error.h"
#include "trainer/model/part_names.h"
#include "trainer/model/table_rows.h"

namespace berth {

using stablehlo::concatenate;

namespace {

// Products with fewer outputs are classifiers, and stay in fp32.
constexpr int64_t kFewestRoundedOutputs = 16;

// Rows of a table by ids [T]. The row `padding`, if there is one (>= 0), never learns.
Value look_up(const ForwardPass& pass, const std::string& name, Value ids, int64_t padding) {
  const Value flat = reshape(ids, {ids.type().elements()});
  const Value rows = gather_rows(pass.parameter(name + ".weight"), flat);  // [T,E]
  if (padding < 0) return rows;
  const Value is_padding = compare(flat, Comparison::kEqual, static_cast<double>(padding));
  return select(broadcast(is_padding, rows.shape(), {0}), stop_gradient(rows), rows);
}

// Column s of each row becomes column s + by of x [R,S,...], with zeros for columns that x lacks.
Value shifted(Value x, int64_t by) {
  const int64_t length = x.size(1), size = std::min(std::abs(by), length);
  return by < 0 ? pad(slice(x, 1, 0, length - size), 1, size, 0)
                : pad(slice(x, 1, size, length), 1, 0, size);
}

// [T,H*K]: of each token, K neighbours in its sequence, and zeros beyond its ends. Element h * K +
// k is element h of the token that stands k - K/2 behind it.
Value windows(const ForwardPass& pass, Value x, int64_t size) {
  const Value segment = pass.batch.segment;
  const Dims shape = {segment.size(0), segment.size(1), x.size(1)};
  const Value rows = reshape(x, shape);
  std::vector<Value> taps;
  for (int64_t tap = 0; tap < size; ++tap) {
    const int64_t by = tap - size / 2;
    const Value is_inside = compare(shifted(segment, by), Comparison::kEqual, segment);
    const Value neighbours = select(broadcast(is_inside, shape, {0, 1}), shifted(rows, by), 0);
    taps.push_back(reshape(neighbours, {x.size(0), x.size(1), 1}));
  }
  return reshape(concatenate(taps, 2), {x.size(0), x.size(1) * size});
}

}  // namespace

Value ForwardPass::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  if (found == parameters.end()) throw Error(Code::kInternal, "no such parameter", name);
  return found->second;
}

ElementType ForwardPass::product_element() const {
  return product_dtype == DType::kBF16 ? ElementType::kBF16 : ElementType::kF32;
}

Value ForwardPass::rounded_dot(Value x, Value y, const stablehlo::DotDims& dims) const {
  return convert(dot(rounded(x), rounded(y), dims, product_element()), ElementType::kF32);
}

Value ForwardPass::product(Value x, Value w) const {
  const stablehlo::DotDims dims{.contracted_x = {1}, .contracted_y = {1}};
  return w.size(0) < kFewestRoundedOutputs ? dot(x, w, dims) : rounded_dot(x, w, dims);
}

Value ForwardPass::linear(Value x, const std::string& name) const {
  const Value w = parameter(name + ".weight");
  const Value y = product(x, reshape(w, {w.size(0), x.size(1)}));
  return has(name + ".bias") ? add_to_rows(y, parameter(name + ".bias")) : y;
}

Value ForwardPass::layer_norm(Value x, const std::string& name) const {
  const Value normalized =
      convert(normalize(x, config.layer_norm_eps, product_element()), ElementType::kF32);
  const Value scaled = multiply_rows(normalized, parameter(name + ".weight"));
  return has(name + ".bias") ? add_to_rows(scaled, parameter(name + ".bias")) : scaled;
}

Value ForwardPass::dropout(Value x, double p, uint32_t site, Value rows) {
  return masks ? masks->drop(x, p, site, rows) : x;
}

Value ForwardPass::adapted_linear(Value x, const std::string& name, int64_t layer, LayerPart part,
                                  Value rows) {
  return add_adapter(linear(x, name), x, layer, part, adapter_site(layer, part), rows);
}

Value ForwardPass::add_adapter(Value y, Value x, int64_t layer, LayerPart part, uint32_t site,
                               Value rows) {
  if (!lora) return y;
  for (const LoraTarget& target : lora_targets(config, lora, layer)) {
    if (target.part != part) continue;
    const stablehlo::DotDims dims{.contracted_x = {1}, .contracted_y = {1}};
    const Value dropped = dropout(x, lora.dropout, site, rows);
    const Value down = dot(dropped, parameter(lora_a_name(target.name)), dims);  // [N,rank]
    y = y +
        dot(down, parameter(lora_b_name(target.name)), dims) * static_cast<double>(lora.scale());
  }
  return y;
}

void ForwardPass::begin_layer() {
  if (recomputes) graph().begin_part();
}

std::array<Value, 2> ForwardPass::halves(Value x) const {
  const int64_t width = x.size(1) / 2;
  const Value second = slice(x, 1, width, 2 * width);
  return {slice(x, 1, 0, width), second};
}

Value ForwardPass::residual_sum(Value input, Value output) const {
  return config.normalizes_first ? input + output : kept(input + output);
}

Value ForwardPass::embedding_sum(const EmbeddingNames& names) const {
  Value x = look_up(*this, names.word, batch.input_ids, config.pad_token_id);
  if (!names.position.empty()) {
    const int64_t padding = config.counts_from_padding() ? config.pad_token_id : -1;
    x = x + look_up(*this, names.position, batch.position_ids, padding);
  }
  if (!names.token_type.empty()) {
    x = x + look_up(*this, names.token_type, batch.token_type_ids, -1);
  }
  if (names.task_type.empty()) return x;
  const Value first = slice(parameter(names.task_type + ".weight"), 0, 0, 1);
  return add_to_rows(x, reshape(first, {first.size(1)}));
}

Value ForwardPass::convolution(Value x, const std::string& name) const {
  return linear(windows(*this, x, config.conv_kernel_size), name);
}

Value ForwardPass::token_rows() const {
  return reshape(batch.token_number, {batch.token_number.type().elements()});
}

Value ForwardPass::picked(Value x) const {
  const HeadRows rows = traits(config.task).rows;
  if (rows == HeadRows::kMaskedAndFirst) {
    return gather_rows(x, concatenate({batch.masked, batch.first_token}, 0));
  }
  const bool pools = rows == HeadRows::kPooled || rows == HeadRows::kGroups;
  const bool reads_first = pools ? config.pooling == Pooling::kCls : config.reads_first_tokens();
  const Value tokens = reads_first ? batch.first_token : batch.masked;
  return tokens ? gather_rows(x, tokens) : x;
}

// A token at place p of its sequence is p tokens behind the first token of the sequence.
Value ForwardPass::sequence_means(Value x) const {
  const Value place = batch.place, first = batch.first_token;
  const int64_t tokens = x.size(0);
  const Dims shape = {first.size(0), tokens};
  const Value first_of_token =
      iota(graph(), ElementType::kS32, {tokens}, 0) - reshape(place, {tokens});
  const Value is_member = compare(broadcast(first_of_token, shape, {1}), Comparison::kEqual,
                                  broadcast(first, shape, {0}));
  const Value members = convert(is_member, ElementType::kF32);
  const Value sums = dot(members, x, {.contracted_x = {1}, .contracted_y = {0}});
  return sums / broadcast(reduce_sum(members, {1}), sums.shape(), {0});
}

// The first token that has the maximum keeps it, and alone gets the gradient.
Value ForwardPass::sequence_maxima(Value x) const {
  const Value segment = batch.segment;  // [R,S]
  const int64_t rows = segment.size(0), length = segment.size(1), hidden = x.size(1);
  // The tokens of each sequence's row: [B,S,H], of which some are its own.
  const Value row = batch.first_token / static_cast<double>(length);
  const Value is_own =
      compare(gather_rows(segment, row), Comparison::kEqual,
              broadcast(gather_rows(reshape(segment, {rows * length}), batch.first_token),
                        {row.size(0), length}, {0}));
  const Dims shape = {row.size(0), length, hidden};
  const Value tokens = reshape(gather_rows(reshape(x, {rows, length * hidden}), row), shape);
  const Value own = select(broadcast(is_own, shape, {0, 1}), tokens, -1e30);
  const Value is_most =
      compare(own, Comparison::kEqual, broadcast(reduce_max(own, {1}), shape, {0, 2}));
  const Value column = convert(iota(graph(), ElementType::kS32, shape, 1), ElementType::kF32);
  const Value first =
      reduce_max(select(is_most, negate(column), -static_cast<double>(length)), {1});
  const Value is_first =
      compare(negate(column), Comparison::kEqual, broadcast(first, shape, {0, 2}));
  return reduce_sum(select(is_first, tokens, 0), {1});
}

// The logits of a vocabulary keep their precision, for a loss is a small difference of them.
Value ForwardPass::vocabulary_logits(Value x, const MaskedLmHeadNames& names) const {
  const Value logits = dot(rounded(x), rounded(parameter(names.decoder)),
                           {.contracted_x = {1}, .contracted_y = {1}});
  return add_to_rows(logits, parameter(names.bias));
}

Value activate(Value x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return x * 0.5 * (erf(x * std::numbers::sqrt2 * 0.5) + 1);
    case Activation::kGeluTanh: {
      const Value inner = (x + x * x * x * 0.044715) * std::sqrt(2 * std::numbers::inv_pi);
      return x * 0.5 * (tanh(inner) + 1);
    }
    case Activation::kRelu:
      return maximum(x, 0);
    case Activation::kSilu:  // sigmoid(x) = (tanh(x/2) + 1) / 2, which does not overflow
      return x * 0.5 * (tanh(x * 0.5) + 1);
    case Activation::kTanh:
      break;
  }
  return tanh(x);
}

Value add_to_rows(Value x, Value offsets) { return x + broadcast(offsets, x.shape(), {1}); }
Value multiply_rows(Value x, Value factors) { return x * broadcast(factors, x.shape(), {1}); }

// ---- Attention, and what it knows of the places of tokens ---------------------------------------

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
  if (!pass.config.rotary_turns_neighbours) {
    const Value first = slice(x, 3, 0, half), second = slice(x, 3, half, 2 * half);
    return concatenate({first * cosines - second * sines, second * cosines + first * sines}, 3);
  }
  const Dims pairs = {all[0], all[1], all[2], half, 2}, single = {all[0], all[1], all[2], half, 1};
  const Value of_pairs = reshape(x, pairs);
  const Value first = reshape(slice(of_pairs, 4, 0, 1), all);
  const Value second = reshape(slice(of_pairs, 4, 1, 2), all);
  const Value turned = concatenate({reshape(first * cosines - second * sines, single),
                                    reshape(second * cosines + first * sines, single)},
                                   4);
  return reshape(turned, {all[0], all[1], all[2], 2 * half});
}

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
  // scores [R,A,S,S] between all tokens of a row. Keys of other sequences get -1e30, and so 0 in
  // softmax.
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
  // attended [R,A,S,D] = probabilities v.
  const Value attended =
      rounded_dot(probabilities, v,
                  {.contracted_x = {3}, .contracted_y = {2}, .batch_x = outer, .batch_y = outer});
  return reshape(transpose(attended, {0, 2, 1, 3}), x.shape());  // [R,A,S,D] to [T,H]
}

// ---- Heads --------------------------------------------------------------------------------------

HeadOutputs head_outputs(ForwardPass& pass, Value hidden) {
  const HeadRows rows = traits(pass.config.task).rows;
  switch (rows) {
    case HeadRows::kSequences: {
      const Value logits = sequence_logits(pass, hidden);
      if (pass.batch.group == 1) return {.logits = logits};
      const Value all = of_all_replicas(pass, logits);  // [E*G,C]
      return {.logits =
                  reshape(all, {all.size(0) / pass.batch.group, all.size(1) * pass.batch.group})};
    }
    case HeadRows::kTokens:
      return {.logits = token_logits(pass, hidden)};
    case HeadRows::kPooled:
    case HeadRows::kGroups: {
      const Pooling pooling = pass.config.pooling;
      Value embeddings = pooling == Pooling::kMean  ? pass.sequence_means(hidden)
                         : pooling == Pooling::kMax ? pass.sequence_maxima(hidden)
                                                    : hidden;
      const std::vector<DenseModule>& modules = pass.config.dense_modules;
      for (size_t i = 0; i < modules.size(); ++i) {
        embeddings = pass.linear(embeddings, dense_module_name(i));
        if (modules[i].activation) embeddings = activate(embeddings, *modules[i].activation);
      }
      return {.logits = pass.batch.group > 1 ? of_all_replicas(pass, embeddings) : embeddings};
    }
    case HeadRows::kStates:
      return {.logits = hidden};
    case HeadRows::kReplaced:
      return {.logits = detection_logits(pass, hidden)};
    case HeadRows::kMaskedAndFirst: {
      const int64_t masked = pass.batch.masked.size(0);
      const Value first = slice(hidden, 0, masked, hidden.size(0));
      return {.logits = masked_logits(pass, slice(hidden, 0, 0, masked)),
              .next_sentences = next_sentence_logits(pass, first)};
    }
    case HeadRows::kMasked:
      break;
  }
  return {.logits = masked_logits(pass, hidden)};
}

Value of_all_replicas(const ForwardPass& pass, Value x) {
  const Value slots = gather_rows(x, pass.batch.slots);
  const Value own = slots * broadcast(pass.batch.own_slots, slots.shape(), {0});
  if (pass.replicas == 1) return own;
  // The sum of all replicas, whose derivative goes to this replica's own rows alone.
  return own + stop_gradient(all_reduce(own, pass.replicas) - own);
}

}  // namespace berth
