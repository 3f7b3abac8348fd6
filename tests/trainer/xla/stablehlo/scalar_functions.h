#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "trainer/xla/stablehlo/graph.h"

// What the interpreter computes of one or two elements.
namespace berth::stablehlo {

inline double apply(Op op, double a) {
  switch (op) {
    case Op::kNegate:
      return -a;
    case Op::kExp:
      return std::exp(a);
    case Op::kExpm1:
      return std::expm1(a);
    case Op::kLog:
      return std::log(a);
    case Op::kLog1p:
      return std::log1p(a);
    case Op::kTanh:
      return std::tanh(a);
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kRsqrt:
      return 1 / std::sqrt(a);
    case Op::kErf:
      return std::erf(a);
    case Op::kCosine:
      return std::cos(a);
    case Op::kSine:
      return std::sin(a);
    default:
      throw std::logic_error("no function of one number");
  }
}
template <typename Number>
Number apply_arithmetic(Op op, Number a, Number b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kMaximum:
      return std::max(a, b);
    default:
      throw std::logic_error("no function of two numbers");
  }
}
inline double apply(Op op, double a, double b) { return apply_arithmetic(op, a, b); }
inline uint64_t apply(Op op, uint64_t a, uint64_t b) {
  switch (op) {
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kShiftRight:
      return a >> b;
    default:
      return apply_arithmetic(op, a, b);
  }
}
template <typename T>
bool holds(Comparison comparison, T a, T b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
  }
  return false;
}

}  // namespace berth::stablehlo
