#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

size_t checked(const char* name, Value x, int64_t dimension) {
  if (dimension < 0 || dimension >= x.rank()) fail(name, "no such dimension", {x});
  return static_cast<size_t>(dimension);
}

bool increases(const Dims& dims) {
  return std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) == dims.end();
}

Value reduce(Op op, const char* name, double start, Value x, Dims dims) {
  if (dims.empty()) return x;
  if (!is_float(x.element()) || !increases(dims)) fail(name, "wrong dimensions or type", {x});
  TensorType type{x.element(), {}};
  for (const int64_t dim : dims) checked(name, x, dim);
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) type.shape.push_back(x.size(i));
  }
  const Value from = constant(x.graph(), start, x.element());
  return x.graph().add({.op = op,
                        .type = std::move(type),
                        .operands = {x.index(), from.index()},
                        .attributes = {std::move(dims)}});
}

}  // namespace

Value broadcast(Value x, Dims shape, Dims dims) {
  if (x.shape() == shape) return x;
  bool fits = static_cast<int64_t>(dims.size()) == x.rank() && increases(dims);
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const auto at = static_cast<size_t>(dims[i]);
    fits = at < shape.size() && (x.shape()[i] == shape[at] || x.shape()[i] == 1);
  }
  TensorType type{x.element(), std::move(shape)};
  if (!fits) fail("broadcast", "the operand does not fit into " + type.text(), {x});
  return x.graph().add({.op = Op::kBroadcast,
                        .type = std::move(type),
                        .operands = {x.index()},
                        .attributes = {std::move(dims)}});
}

Value broadcast(Value scalar, Dims shape) { return broadcast(scalar, std::move(shape), {}); }

Value reshape(Value x, Dims shape) {
  if (x.shape() == shape) return x;
  TensorType type{x.element(), std::move(shape)};
  if (type.elements() != x.type().elements()) fail("reshape", "to " + type.text(), {x});
  return x.graph().add({.op = Op::kReshape, .type = std::move(type), .operands = {x.index()}});
}

Value transpose(Value x, Dims permutation) {
  Dims sorted = permutation, all(static_cast<size_t>(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all) fail("transpose", "no permutation of the dimensions", {x});
  if (permutation == all) return x;
  TensorType type{x.element(), {}};
  for (const int64_t dimension : permutation) type.shape.push_back(x.size(dimension));
  return x.graph().add({.op = Op::kTranspose,
                        .type = std::move(type),
                        .operands = {x.index()},
                        .attributes = {std::move(permutation)}});
}

Value slice(Value x, int64_t dimension, int64_t first, int64_t end) {
  const size_t at = checked("slice", x, dimension);
  if (first < 0 || first > end || end > x.size(dimension)) {
    fail("slice", "elements " + std::to_string(first) + " to " + std::to_string(end), {x});
  }
  if (first == 0 && end == x.size(dimension)) return x;
  TensorType type = x.type();
  Dims firsts(type.shape.size()), ends = type.shape;
  firsts[at] = first;
  ends[at] = end;
  type.shape[at] = end - first;
  return x.graph().add({.op = Op::kSlice,
                        .type = std::move(type),
                        .operands = {x.index()},
                        .attributes = {std::move(firsts), std::move(ends)}});
}

Value concatenate(const std::vector<Value>& parts, int64_t dimension) {
  const size_t at = checked("concatenate", parts.at(0), dimension);
  Node node{.op = Op::kConcatenate, .type = parts[0].type(), .attributes = {Dims{dimension}}};
  node.type.shape[at] = 0;
  for (const Value& part : parts) {
    TensorType type = part.type();
    if (part.rank() != parts[0].rank()) fail("concatenate", "the ranks differ", parts);
    node.type.shape[at] += type.shape[at];
    type.shape[at] = parts[0].shape()[at];
    if (type != parts[0].type()) fail("concatenate", "the types do not fit", parts);
    node.operands.push_back(part.index());
  }
  return parts.size() == 1 ? parts[0] : parts[0].graph().add(std::move(node));
}

Value pad(Value x, int64_t dimension, int64_t before, int64_t behind) {
  const size_t at = checked("pad", x, dimension);
  if (before < 0 || behind < 0) fail("pad", "negative padding", {x});
  if (before == 0 && behind == 0) return x;
  Node node{.op = Op::kPad, .type = x.type()};
  node.type.shape[at] += before + behind;
  node.operands = {x.index(), constant(x.graph(), 0, x.element()).index()};
  node.attributes[0].resize(node.type.shape.size());
  node.attributes[1].resize(node.type.shape.size());
  node.attributes[0][at] = before;
  node.attributes[1][at] = behind;
  return x.graph().add(std::move(node));
}

Value reduce_sum(Value x, Dims dims) {
  return reduce(Op::kReduceSum, "reduce_sum", 0, x, std::move(dims));
}
Value reduce_sum(Value x) {
  Dims dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return reduce_sum(x, std::move(dims));
}
Value reduce_max(Value x, Dims dims) {
  return reduce(Op::kReduceMax, "reduce_max", -3.0e38, x, std::move(dims));
}

}  // namespace berth::stablehlo
