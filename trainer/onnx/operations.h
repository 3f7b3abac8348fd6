#pragma once

#include <cstdint>
#include <vector>

#include "trainer/onnx/graph.h"

// The operators of opset 17 that berth's graphs use, as functions of values. Each adds one node;
// github.com/onnx/onnx, docs/Operators.md, defines what it computes. Arithmetic broadcasts as NumPy
// does. Axes may be negative, which counts from the last one.
namespace berth::onnx {

// The version of the operators' definitions, and the version of the file format that came with it.
inline constexpr int64_t kOpset = 17, kIrVersion = 8;

// Constants: one float, one integer (both scalars), and vectors of them.
Value constant(Graph& graph, float value);
Value constant(Graph& graph, const std::vector<float>& values);
Value constant(Graph& graph, int64_t value);
Value constant(Graph& graph, const std::vector<int64_t>& values);

Value operator+(const Value& x, const Value& y);
Value operator-(const Value& x, const Value& y);
Value operator*(const Value& x, const Value& y);
Value operator/(const Value& x, const Value& y);
Value negate(const Value& x);
Value erf(const Value& x);
Value tanh(const Value& x);
Value sigmoid(const Value& x);
Value relu(const Value& x);
Value sin(const Value& x);
Value cos(const Value& x);
Value abs(const Value& x);
Value clip(const Value& x, int64_t least, int64_t most);
Value maximum(const Value& x, const Value& y);  // of each two elements
Value cast(const Value& x, ElementType type);
Value equal(const Value& x, const Value& y);
Value less_or_equal(const Value& x, const Value& y);
Value logical_not(const Value& x);

// The sums along one axis, which keeps a size of 1.
Value sum(const Value& x, int64_t axis);
// The largest values, and the square roots of the sums of squares, along one axis, which goes.
Value largest(const Value& x, int64_t axis);
Value lengths(const Value& x, int64_t axis);
// x [...,N,K] times y [...,K,M], both batches broadcast.
Value matmul(const Value& x, const Value& y);
Value softmax(const Value& x);  // over the last axis
// Without a bias, `bias` is empty.
Value layer_normalization(const Value& x, const Value& scale, const Value& bias, double epsilon);
// x [B,C,S], w [M,C,K]: [B,M,S], with zeros beyond the ends of x. K is odd.
Value convolution(const Value& x, const Value& w, const Value& bias, int64_t kernel_size);
Value cumulative_sum(const Value& x, int64_t axis);

// The slices of `x` along `axis` with these numbers; their shape replaces that axis.
Value gather(const Value& x, const Value& numbers, int64_t axis = 0);
Value slice(const Value& x, int64_t axis, const Value& begin, const Value& end);  // both are [1]
std::vector<Value> split(const Value& x, int64_t axis, const std::vector<int64_t>& sizes);
Value concat(const std::vector<Value>& values, int64_t axis);

// In `shape`, 0 stands for the size that x has there, and a single -1 for the remaining size.
Value reshape(const Value& x, const Value& shape);
Value reshape(const Value& x, const std::vector<int64_t>& shape);
Value transpose(const Value& x, const std::vector<int64_t>& permutation);
Value squeeze(const Value& x, const std::vector<int64_t>& axes);
Value unsqueeze(const Value& x, const std::vector<int64_t>& axes);

// The size of one axis of x: int64 [1].
Value size_of_axis(const Value& x, int64_t axis);
// first, first + 1, ... less than limit: int64, both scalars.
Value range(const Value& first, const Value& limit);

}  // namespace berth::onnx
