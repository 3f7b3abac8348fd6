#include "trainer/xla/network/forward_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "storage/base/error.h"

namespace berth {
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
  return names.token_type.empty() ? x
                                  : x + look_up(*this, names.token_type, batch.token_type_ids, -1);
}

Value ForwardPass::convolution(Value x, const std::string& name) const {
  return linear(windows(*this, x, config.conv_kernel_size), name);
}

Value ForwardPass::token_rows() const {
  return reshape(batch.token_number, {batch.token_number.type().elements()});
}

Value ForwardPass::picked(Value x) const {
  const Value tokens = config.reads_first_tokens() ? batch.first_token : batch.masked;
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

}  // namespace berth
