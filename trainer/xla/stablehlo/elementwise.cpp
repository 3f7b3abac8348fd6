#include <algorithm>
#include <bit>
#include <utility>

#include "storage/base/half.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

int64_t bits_of(double number, ElementType element) {
  switch (element) {
    case ElementType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(number));
    case ElementType::kBF16:
      return to_bf16(static_cast<float>(number));
    default:
      return static_cast<int64_t>(number);
  }
}

// Makes the shapes of all equal, where some are scalars.
void spread_scalars(std::vector<Value>& operands) {
  const Dims* shape = nullptr;
  for (const Value& x : operands) {
    if (x.rank() > 0) shape = &x.shape();
  }
  for (Value& x : operands) {
    if (shape != nullptr && x.rank() == 0) x = broadcast(x, *shape);
  }
}

bool accepts(Op op, ElementType element) {
  if (op <= Op::kIsFinite) return is_float(element);
  if (op <= Op::kMaximum) return element != ElementType::kPred;
  if (op <= Op::kShiftRight) return !is_float(element) && element != ElementType::kS32;
  return true;
}

}  // namespace

Value constant(Graph& graph, double number, ElementType element, Dims shape) {
  return graph.add({.op = Op::kConstant,
                    .type = {element, std::move(shape)},
                    .attributes = {Dims{bits_of(number, element)}}});
}

Value constant(Graph& graph, std::span<const int32_t> numbers) {
  return graph.add({.op = Op::kConstant,
                    .type = {ElementType::kS32, {static_cast<int64_t>(numbers.size())}},
                    .attributes = {Dims(numbers.begin(), numbers.end())}});
}

Value iota(Graph& graph, ElementType element, Dims shape, int64_t dimension) {
  return graph.add(
      {.op = Op::kIota, .type = {element, std::move(shape)}, .attributes = {Dims{dimension}}});
}

Value elementwise(Op op, std::vector<Value> operands, Dims attribute) {
  spread_scalars(operands);
  TensorType type = operands[0].type();
  for (const Value& x : operands) {
    if (x.type() != type) fail(name_of(op), "the types differ", operands);
  }
  if (!accepts(op, type.element)) fail(name_of(op), "wrong element type", operands);
  if (op == Op::kIsFinite || op == Op::kCompare) type.element = ElementType::kPred;
  return make(op, std::move(type), operands, {std::move(attribute)});
}

Value select(Value condition, Operand yes, Operand no) {
  const Value value = yes.value ? yes.value : no.value;
  std::vector<Value> x = {condition, yes.beside(value), no.beside(value)};
  spread_scalars(x);
  const bool fits = x[0].element() == ElementType::kPred && x[1].type() == x[2].type() &&
                    x[0].shape() == x[1].shape();
  if (!fits) fail("select", "the types do not fit", x);
  return make(Op::kSelect, x[1].type(), x);
}

Value convert(Value x, ElementType element) {
  return x.element() == element ? x : make(Op::kConvert, {element, x.shape()}, {x});
}

}  // namespace berth::stablehlo
