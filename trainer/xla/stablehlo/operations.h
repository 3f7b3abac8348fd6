#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"

// The operations of a program, as functions of values. Each adds a node, or more, to the graph of
// its operands and returns the result. The StableHLO specification defines what they compute.
//
// Operands must belong to one graph. Shapes and element types are checked at once: a mismatch is a
// bug of the caller and throws Error{kInternal} with the operation and the types.
namespace berth::stablehlo {

// ---- Lists of the numbers of dimensions ---------------------------------------------------------

// first, first + 1, ...
inline Dims range(size_t first, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(first));
  return dims;
}

// The dimensions [0, rank) that are not in `dims`.
inline Dims others(int64_t rank, const Dims& dims) {
  Dims rest;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) rest.push_back(i);
  }
  return rest;
}

// Whether each is a dimension of a tensor of this rank, and none occurs twice.
inline bool are_distinct(int64_t rank, const Dims& dims) {
  return others(rank, dims).size() + dims.size() == static_cast<size_t>(rank);
}

inline Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The sizes of these dimensions.
inline Dims sizes(const Dims& shape, const Dims& dims) {
  Dims result;
  for (const int64_t dim : dims) result.push_back(shape[static_cast<size_t>(dim)]);
  return result;
}

// The permutation that undoes another.
inline Dims inverse(const Dims& permutation) {
  Dims result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return result;
}

// ---- Operations ---------------------------------------------------------------------------------

// Numbers. An array has one dimension.
Value constant(Graph& graph, double number, ElementType element = ElementType::kF32,
               Dims shape = {});
Value constant(Graph& graph, std::span<const int32_t> numbers);
Value constant(Graph& graph, std::span<const float> numbers);
// Elements that count from 0 along `dimension`.
Value iota(Graph& graph, ElementType element, Dims shape, int64_t dimension);

// A value, or a number: a constant of the type of the value beside it.
struct Operand {
  Operand(Value x) : value(x) {}
  Operand(double x) : number(x) {}
  Value beside(Value other) const {
    return value ? value : constant(other.graph(), number, other.element());
  }

  Value value{};
  double number = 0;
};

// Element by element. Two operands have the same element type and the same shape, or one of them is
// a scalar. `op` is one of those from kNegate to kCompare; the functions below name them.
Value elementwise(Op op, std::vector<Value> operands, Dims attribute = {});

// Operations on floats.
inline Value negate(Value x) { return elementwise(Op::kNegate, {x}); }
inline Value exp(Value x) { return elementwise(Op::kExp, {x}); }
inline Value expm1(Value x) { return elementwise(Op::kExpm1, {x}); }  // e^x - 1
inline Value log(Value x) { return elementwise(Op::kLog, {x}); }
inline Value log1p(Value x) { return elementwise(Op::kLog1p, {x}); }  // log(1 + x)
inline Value tanh(Value x) { return elementwise(Op::kTanh, {x}); }
inline Value sqrt(Value x) { return elementwise(Op::kSqrt, {x}); }
inline Value rsqrt(Value x) { return elementwise(Op::kRsqrt, {x}); }  // 1 / sqrt(x)
inline Value erf(Value x) { return elementwise(Op::kErf, {x}); }
inline Value cos(Value x) { return elementwise(Op::kCosine, {x}); }
inline Value sin(Value x) { return elementwise(Op::kSine, {x}); }
inline Value is_finite(Value x) { return elementwise(Op::kIsFinite, {x}); }  // kPred
// Operations on numbers.
inline Value operator+(Value a, Operand b) { return elementwise(Op::kAdd, {a, b.beside(a)}); }
inline Value operator-(Value a, Operand b) { return elementwise(Op::kSubtract, {a, b.beside(a)}); }
inline Value operator*(Value a, Operand b) { return elementwise(Op::kMultiply, {a, b.beside(a)}); }
inline Value operator/(Value a, Operand b) { return elementwise(Op::kDivide, {a, b.beside(a)}); }
inline Value operator-(double a, Value b) { return Operand(a).beside(b) - b; }
inline Value operator/(double a, Value b) { return Operand(a).beside(b) / b; }
inline Value maximum(Value a, Operand b) { return elementwise(Op::kMaximum, {a, b.beside(a)}); }
// Operations on truth values or unsigned integers.
inline Value operator&(Value a, Operand b) { return elementwise(Op::kAnd, {a, b.beside(a)}); }
inline Value operator|(Value a, Operand b) { return elementwise(Op::kOr, {a, b.beside(a)}); }
inline Value operator^(Value a, Operand b) { return elementwise(Op::kXor, {a, b.beside(a)}); }
inline Value shift_right(Value x, Operand bits) {  // zeros come in
  return elementwise(Op::kShiftRight, {x, bits.beside(x)});
}
// kPred, without a derivative.
inline Value compare(Value a, Comparison comparison, Operand b) {
  return elementwise(Op::kCompare, {a, b.beside(a)}, {static_cast<int64_t>(comparison)});
}

// `yes` where the condition holds, else `no`. Each of the three may be a scalar, and one of the
// last two a number.
Value select(Value condition, Operand yes, Operand no);
Value convert(Value x, ElementType element);

// x with more dimensions: dimension i of x becomes dimension dims[i] of the result, and x is
// repeated along the others. A dimension of size 1 is repeated, too. A scalar has no dims.
Value broadcast(Value x, Dims shape, Dims dims = {});
Value reshape(Value x, Dims shape);
// Dimension i of the result is dimension permutation[i] of x.
Value transpose(Value x, const Dims& permutation);
// Elements [first, end) along one dimension.
Value slice(Value x, int64_t dimension, int64_t first, int64_t end);
Value concatenate(const std::vector<Value>& parts, int64_t dimension);
// Element i of x [N], and x [N] of its elements, which are scalars.
Value element(Value x, int64_t i);
Value array_of(std::vector<Value> elements);
// Zeros before and behind x along one dimension.
Value pad(Value x, int64_t dimension, int64_t before, int64_t behind);

// The dimensions disappear. A maximum has no derivative: subtract it only where it cancels out.
Value reduce_sum(Value x, const Dims& dims);
Value reduce_sum(Value x);  // of all elements
Value reduce_max(Value x, const Dims& dims);

// Sums of products over the contracted dimensions. The result has the batch dimensions, then the
// other dimensions of x, then the other dimensions of y. Both factors are kF32, or both are kBF16.
// Sums are kF32. They are rounded to `result`, which may be kBF16 if the factors are kBF16.
// Gradients are products again: their factors are rounded to the type of x and y, and their results
// to `result`. Without batch dimensions y is a matrix of weights, and its gradient is kF32.
struct DotDims {
  Dims contracted_x, contracted_y;
  Dims batch_x{}, batch_y{};
};
Value dot(Value x, Value y, const DotDims& dims, ElementType result = ElementType::kF32);

// then(p), where p = exp(x) / sum(exp(x)) over the last dimension of x, f32. `then` multiplies p by
// constants, and may round the products.
Value softmax(Value x, const std::function<Value(Value)>& then);
// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), rounded to `result`. The means are over
// the last dimension of x, f32. The derivative by x is rounded to `result`, too.
Value normalize(Value x, double epsilon, ElementType result);
// Their derivatives by x, f32, for reverse mode. y is the result, d the derivative by y, and
// `probabilities` is p. normalize() multiplied each row by an element of `scale` [...].
Value softmax_derivative(Value y, Value probabilities, Value d);
Value normalize_derivative(Value y, Value scale, Value d);

// Rows of `table` [N,...] by number: ids [I...] give [I...,...]. Ids must lie in [0,N).
Value gather_rows(Value table, Value ids);
// The derivative of gather_rows: zeros [rows,...], to which x's rows [I...,...] are added. Equal
// operands give equal bits: the order of the sums does not depend on the device's timing.
Value add_rows(Value x, Value ids, int64_t rows);
// Zeros [rows,...], in which x's rows [I...,...] take the places `ids`. Each id occurs once. Rows
// with an id of `rows` or more are left out. It has no derivative.
Value scatter_rows(Value x, Value ids, int64_t rows);
// x [N], unsigned integers, in ascending order.
Value sort(Value x);

// The sum of x over `replicas` replicas of the program. It has no derivative.
Value all_reduce(Value x, int64_t replicas);

// x as it is. The compiler computes nothing across this line, neither earlier nor once for both
// sides, and computes what follows from it behind `start`.
Value barrier(Value x, Value start);

// x, as a constant for reverse mode.
Value stop_gradient(Value x);

}  // namespace berth::stablehlo
