#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"

// The operations of a program, as functions of values. Each adds a node, or more, to the graph of
// its operands and returns the result. The StableHLO specification defines what they compute.
//
// Operands must belong to one graph. Shapes and element types are checked at once: a mismatch is a
// bug of the caller and throws Error{kInternal} with the operation and the types.
namespace berth::stablehlo {

// Numbers. An array has one dimension.
Value constant(Graph& graph, double number, ElementType element = ElementType::kF32,
               Dims shape = {});
Value constant(Graph& graph, std::span<const int32_t> numbers);
// Elements that count from 0 along `dimension`.
Value iota(Graph& graph, ElementType element, Dims shape, int64_t dimension);

// Element by element. Two operands have the same element type and the same shape, or one of them is
// a scalar. A number beside a value is a constant of the value's type.
Value negate(Value x);
Value exp(Value x);
Value expm1(Value x);  // e^x - 1
Value log(Value x);
Value log1p(Value x);  // log(1 + x)
Value tanh(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);  // 1 / sqrt(x)
Value erf(Value x);
Value logistic(Value x);   // 1 / (1 + e^-x)
Value is_finite(Value x);  // kPred
Value logical_not(Value x);
Value convert(Value x, ElementType element);

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator-(double a, Value b);
Value maximum(Value a, Value b);
Value minimum(Value a, Value b);
// Of truth values or unsigned integers.
Value operator&(Value a, Value b);
Value operator|(Value a, Value b);
Value operator^(Value a, Value b);
Value shift_left(Value x, int64_t bits);
Value shift_right(Value x, int64_t bits);  // zeros come in

// kPred. They have no derivative.
Value compare(Value a, Comparison comparison, Value b);
Value compare(Value a, Comparison comparison, double b);
// `yes` where the condition holds, else `no`. Each of the three may be a scalar.
Value select(Value condition, Value yes, Value no);

// x with more dimensions: dimension i of x becomes dimension dims[i] of the result, and x is
// repeated along the others. A dimension of size 1 is repeated, too.
Value broadcast(Value x, Dims shape, Dims dims);
Value broadcast(Value scalar, Dims shape);
Value reshape(Value x, Dims shape);
// Dimension i of the result is dimension permutation[i] of x.
Value transpose(Value x, Dims permutation);
// Elements [first, end) along one dimension.
Value slice(Value x, int64_t dimension, int64_t first, int64_t end);
Value concatenate(const std::vector<Value>& parts, int64_t dimension);
// Zeros before and behind x along one dimension.
Value pad(Value x, int64_t dimension, int64_t before, int64_t behind);

// The dimensions disappear. A maximum has no derivative: subtract it only where it cancels out.
Value reduce_sum(Value x, Dims dims);
Value reduce_sum(Value x);  // of all elements
Value reduce_max(Value x, Dims dims);

// Sums of products over the contracted dimensions. The result has the batch dimensions, then the
// other dimensions of x, then those of y. The factors are both kF32 or both kBF16; the result and
// its sums are kF32. Gradients are products again, whose factors are rounded as x and y are.
struct DotDims {
  Dims contracted_x, contracted_y;
  Dims batch_x{}, batch_y{};
};
Value dot(Value x, Value y, const DotDims& dims);

// Rows of `table` [N,...] by number: ids [I...] give [I...,...]. Ids must lie in [0,N).
Value gather_rows(Value table, Value ids);
// The derivative of gather_rows: zeros [rows,...], to which x's rows [I...,...] are added.
Value scatter_rows(Value x, Value ids, int64_t rows);

// The sum of x over `replicas` replicas of the program. It has no derivative.
Value all_reduce(Value x, int64_t replicas);

// The values as they are. The compiler computes nothing across this line, neither earlier nor once
// for both sides.
std::vector<Value> barrier(const std::vector<Value>& values);

// x, as a constant for reverse mode.
Value stop_gradient(Value x);

}  // namespace berth::stablehlo
