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
