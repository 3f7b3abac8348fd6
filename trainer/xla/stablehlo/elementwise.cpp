#include <bit>
#include <string>
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

Value unary(Op op, const char* name, Value x, bool of_floats = true) {
  if (is_float(x.element()) != of_floats) fail(name, "wrong element type", {x});
  return x.graph().add({.op = op, .type = x.type(), .operands = {x.index()}});
}

// Makes the shapes of both equal, where one is a scalar.
void spread_scalars(Value& a, Value& b) {
  if (a.rank() == 0 && b.rank() > 0) a = broadcast(a, b.shape());
  if (b.rank() == 0 && a.rank() > 0) b = broadcast(b, a.shape());
}

enum class Kind { kNumbers, kBits };

Value binary(Op op, const char* name, Value a, Value b, Kind kind = Kind::kNumbers) {
  spread_scalars(a, b);
  if (a.type() != b.type()) fail(name, "the types differ", {a, b});
  const ElementType element = a.element();
  const bool fits = kind == Kind::kNumbers ? element != ElementType::kPred
                                           : !is_float(element) && element != ElementType::kS32;
  if (!fits) fail(name, "wrong element type", {a, b});
  return a.graph().add({.op = op, .type = a.type(), .operands = {a.index(), b.index()}});
}

Value like(Value x, double number) { return constant(x.graph(), number, x.element()); }

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

Value negate(Value x) { return unary(Op::kNegate, "negate", x); }
Value exp(Value x) { return unary(Op::kExp, "exp", x); }
Value expm1(Value x) { return unary(Op::kExpm1, "expm1", x); }
Value log(Value x) { return unary(Op::kLog, "log", x); }
Value log1p(Value x) { return unary(Op::kLog1p, "log1p", x); }
Value tanh(Value x) { return unary(Op::kTanh, "tanh", x); }
Value sqrt(Value x) { return unary(Op::kSqrt, "sqrt", x); }
Value rsqrt(Value x) { return unary(Op::kRsqrt, "rsqrt", x); }
Value erf(Value x) { return unary(Op::kErf, "erf", x); }
Value logistic(Value x) { return unary(Op::kLogistic, "logistic", x); }
Value logical_not(Value x) { return unary(Op::kNot, "not", x, false); }

Value is_finite(Value x) {
  if (!is_float(x.element())) fail("is_finite", "wrong element type", {x});
  return x.graph().add(
      {.op = Op::kIsFinite, .type = {ElementType::kPred, x.shape()}, .operands = {x.index()}});
}

Value convert(Value x, ElementType element) {
  if (x.element() == element) return x;
  return x.graph().add({.op = Op::kConvert, .type = {element, x.shape()}, .operands = {x.index()}});
}

Value operator+(Value a, Value b) { return binary(Op::kAdd, "add", a, b); }
Value operator-(Value a, Value b) { return binary(Op::kSubtract, "subtract", a, b); }
Value operator*(Value a, Value b) { return binary(Op::kMultiply, "multiply", a, b); }
Value operator/(Value a, Value b) { return binary(Op::kDivide, "divide", a, b); }
Value operator+(Value a, double b) { return a + like(a, b); }
Value operator-(Value a, double b) { return a - like(a, b); }
Value operator*(Value a, double b) { return a * like(a, b); }
Value operator/(Value a, double b) { return a / like(a, b); }
Value operator-(double a, Value b) { return like(b, a) - b; }
Value maximum(Value a, Value b) { return binary(Op::kMaximum, "maximum", a, b); }
Value minimum(Value a, Value b) { return binary(Op::kMinimum, "minimum", a, b); }
Value operator&(Value a, Value b) { return binary(Op::kAnd, "and", a, b, Kind::kBits); }
Value operator|(Value a, Value b) { return binary(Op::kOr, "or", a, b, Kind::kBits); }
Value operator^(Value a, Value b) { return binary(Op::kXor, "xor", a, b, Kind::kBits); }

Value shift_left(Value x, int64_t bits) {
  return binary(Op::kShiftLeft, "shift_left", x, like(x, static_cast<double>(bits)), Kind::kBits);
}
Value shift_right(Value x, int64_t bits) {
  return binary(Op::kShiftRight, "shift_right", x, like(x, static_cast<double>(bits)), Kind::kBits);
}

Value compare(Value a, Comparison comparison, Value b) {
  spread_scalars(a, b);
  if (a.type() != b.type()) fail("compare", "the types differ", {a, b});
  return a.graph().add({.op = Op::kCompare,
                        .type = {ElementType::kPred, a.shape()},
                        .operands = {a.index(), b.index()},
                        .attributes = {Dims{static_cast<int64_t>(comparison)}}});
}
Value compare(Value a, Comparison comparison, double b) {
  return compare(a, comparison, like(a, b));
}

Value select(Value condition, Value yes, Value no) {
  spread_scalars(condition, yes);
  spread_scalars(condition, no);
  spread_scalars(yes, no);
  if (condition.element() != ElementType::kPred || yes.type() != no.type() ||
      condition.shape() != yes.shape()) {
    fail("select", "the types do not fit", {condition, yes, no});
  }
  return yes.graph().add({.op = Op::kSelect,
                          .type = yes.type(),
                          .operands = {condition.index(), yes.index(), no.index()}});
}

}  // namespace berth::stablehlo
