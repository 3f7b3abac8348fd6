#include "trainer/onnx/network/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "storage/base/error.h"

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

}  // namespace berth::onnx
