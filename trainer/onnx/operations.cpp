#include "trainer/onnx/operations.h"

namespace berth::onnx {

Value constant(Graph& graph, float value) {
  return graph.constant(ElementType::kF32, {}, std::as_bytes(std::span(&value, 1)));
}

Value constant(Graph& graph, const std::vector<float>& values) {
  return graph.constant(ElementType::kF32, {static_cast<int64_t>(values.size())},
                        std::as_bytes(std::span(values)));
}

Value constant(Graph& graph, int64_t value) {
  return graph.constant(ElementType::kI64, {}, std::as_bytes(std::span(&value, 1)));
}

Value constant(Graph& graph, const std::vector<int64_t>& values) {
  return graph.constant(ElementType::kI64, {static_cast<int64_t>(values.size())},
                        std::as_bytes(std::span(values)));
}

Value operator+(const Value& x, const Value& y) { return x.graph->node("Add", {x, y}); }
Value operator-(const Value& x, const Value& y) { return x.graph->node("Sub", {x, y}); }
Value operator*(const Value& x, const Value& y) { return x.graph->node("Mul", {x, y}); }
Value operator/(const Value& x, const Value& y) { return x.graph->node("Div", {x, y}); }
Value negate(const Value& x) { return x.graph->node("Neg", {x}); }
Value erf(const Value& x) { return x.graph->node("Erf", {x}); }
Value tanh(const Value& x) { return x.graph->node("Tanh", {x}); }
Value sigmoid(const Value& x) { return x.graph->node("Sigmoid", {x}); }
Value relu(const Value& x) { return x.graph->node("Relu", {x}); }
Value sin(const Value& x) { return x.graph->node("Sin", {x}); }
Value cos(const Value& x) { return x.graph->node("Cos", {x}); }
Value abs(const Value& x) { return x.graph->node("Abs", {x}); }

Value clip(const Value& x, int64_t least, int64_t most) {
  return x.graph->node("Clip", {x, constant(*x.graph, least), constant(*x.graph, most)});
}

Value maximum(const Value& x, const Value& y) { return x.graph->node("Max", {x, y}); }

Value cast(const Value& x, ElementType type) {
  return x.graph->node("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

Value equal(const Value& x, const Value& y) { return x.graph->node("Equal", {x, y}); }
Value less_or_equal(const Value& x, const Value& y) { return x.graph->node("LessOrEqual", {x, y}); }
Value logical_not(const Value& x) { return x.graph->node("Not", {x}); }

Value sum(const Value& x, int64_t axis) {
  return x.graph->node("ReduceSum", {x, constant(*x.graph, std::vector{axis})},
                       {{"keepdims", int64_t{1}}});
}

Value largest(const Value& x, int64_t axis) {
  return x.graph->node("ReduceMax", {x}, {{"axes", std::vector{axis}}, {"keepdims", int64_t{0}}});
}

Value lengths(const Value& x, int64_t axis) {
  return x.graph->node("ReduceL2", {x}, {{"axes", std::vector{axis}}, {"keepdims", int64_t{0}}});
}

Value matmul(const Value& x, const Value& y) { return x.graph->node("MatMul", {x, y}); }

Value softmax(const Value& x) { return x.graph->node("Softmax", {x}, {{"axis", int64_t{-1}}}); }

Value layer_normalization(const Value& x, const Value& scale, const Value& bias, double epsilon) {
  return x.graph->node("LayerNormalization",
                       bias ? std::vector{x, scale, bias} : std::vector{x, scale},
                       {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}});
}

Value convolution(const Value& x, const Value& w, const Value& bias, int64_t kernel_size) {
  const int64_t beyond = kernel_size / 2;
  return x.graph->node(
      "Conv", {x, w, bias},
      {{"kernel_shape", std::vector{kernel_size}}, {"pads", std::vector{beyond, beyond}}});
}

Value cumulative_sum(const Value& x, int64_t axis) {
  return x.graph->node("CumSum", {x, constant(*x.graph, axis)});
}

Value gather(const Value& x, const Value& numbers, int64_t axis) {
  return x.graph->node("Gather", {x, numbers}, {{"axis", axis}});
}

Value slice(const Value& x, int64_t axis, const Value& begin, const Value& end) {
  return x.graph->node("Slice", {x, begin, end, constant(*x.graph, std::vector{axis})});
}

std::vector<Value> split(const Value& x, int64_t axis, const std::vector<int64_t>& sizes) {
  return x.graph->node("Split", {x, constant(*x.graph, sizes)}, {{"axis", axis}}, sizes.size());
}

Value concat(const std::vector<Value>& values, int64_t axis) {
  return values[0].graph->node("Concat", values, {{"axis", axis}});
}

Value reshape(const Value& x, const Value& shape) { return x.graph->node("Reshape", {x, shape}); }

Value reshape(const Value& x, const std::vector<int64_t>& shape) {
  return reshape(x, constant(*x.graph, shape));
}

Value transpose(const Value& x, const std::vector<int64_t>& permutation) {
  return x.graph->node("Transpose", {x}, {{"perm", permutation}});
}

Value squeeze(const Value& x, const std::vector<int64_t>& axes) {
  return x.graph->node("Squeeze", {x, constant(*x.graph, axes)});
}

Value unsqueeze(const Value& x, const std::vector<int64_t>& axes) {
  return x.graph->node("Unsqueeze", {x, constant(*x.graph, axes)});
}

Value size_of_axis(const Value& x, int64_t axis) {
  return x.graph->node("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

Value range(const Value& first, const Value& limit) {
  return first.graph->node("Range", {first, limit, constant(*first.graph, int64_t{1})});
}

}  // namespace berth::onnx
