#include "trainer/xla/network/forward_pass.h"

#include <cmath>
#include <numbers>

#include "storage/base/error.h"

namespace berth {
namespace {

// Products with fewer outputs are classifiers, and stay in fp32.
constexpr int64_t kFewestRoundedOutputs = 16;

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

Value token_rows(const ForwardPass& pass) {
  const Value numbers = pass.batch.token_number;
  return reshape(numbers, {numbers.type().elements()});
}

}  // namespace berth
