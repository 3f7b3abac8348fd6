#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

// Whether every dimension is one of x's and occurs once.
bool are_dimensions(Value x, const Dims& contracted, const Dims& batch) {
  std::set<int64_t> seen;
  for (const Dims* dims : {&contracted, &batch}) {
    for (const int64_t dim : *dims) {
      if (dim < 0 || dim >= x.rank() || !seen.insert(dim).second) return false;
    }
  }
  return true;
}

bool match(Value x, const Dims& dims_x, Value y, const Dims& dims_y) {
  return std::equal(dims_x.begin(), dims_x.end(), dims_y.begin(), dims_y.end(),
                    [&](int64_t a, int64_t b) { return x.size(a) == y.size(b); });
}

void append_free(Value x, const Dims& contracted, const Dims& batch, Dims& shape) {
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::count(contracted.begin(), contracted.end(), i) == 0 &&
        std::count(batch.begin(), batch.end(), i) == 0) {
      shape.push_back(x.size(i));
    }
  }
}

}  // namespace

Value dot(Value x, Value y, const DotDims& dims) {
  const bool fits = is_float(x.element()) && x.element() == y.element() &&
                    are_dimensions(x, dims.contracted_x, dims.batch_x) &&
                    are_dimensions(y, dims.contracted_y, dims.batch_y) &&
                    match(x, dims.contracted_x, y, dims.contracted_y) &&
                    match(x, dims.batch_x, y, dims.batch_y);
  if (!fits) fail("dot", "the types or dimensions do not fit", {x, y});
  TensorType type{ElementType::kF32, {}};
  for (const int64_t dim : dims.batch_x) type.shape.push_back(x.size(dim));
  append_free(x, dims.contracted_x, dims.batch_x, type.shape);
  append_free(y, dims.contracted_y, dims.batch_y, type.shape);
  return x.graph().add(
      {.op = Op::kDot,
       .type = std::move(type),
       .operands = {x.index(), y.index()},
       .attributes = {dims.contracted_x, dims.contracted_y, dims.batch_x, dims.batch_y}});
}

Value gather_rows(Value table, Value ids) {
  if (table.rank() < 1 || ids.element() != ElementType::kS32) {
    fail("gather_rows", "wrong element type or rank", {table, ids});
  }
  TensorType type{table.element(), ids.shape()};
  type.shape.insert(type.shape.end(), table.shape().begin() + 1, table.shape().end());
  return table.graph().add(
      {.op = Op::kGatherRows, .type = std::move(type), .operands = {table.index(), ids.index()}});
}

Value scatter_rows(Value x, Value ids, int64_t rows) {
  const bool fits = ids.element() == ElementType::kS32 && x.rank() >= ids.rank() &&
                    std::equal(ids.shape().begin(), ids.shape().end(), x.shape().begin());
  if (!fits) fail("scatter_rows", "the types do not fit", {x, ids});
  TensorType type{x.element(), {rows}};
  type.shape.insert(type.shape.end(), x.shape().begin() + ids.rank(), x.shape().end());
  const Value zeros = constant(x.graph(), 0, x.element(), type.shape);
  return x.graph().add({.op = Op::kScatterRows,
                        .type = std::move(type),
                        .operands = {zeros.index(), ids.index(), x.index()}});
}

Value all_reduce(Value x, int64_t replicas) {
  if (replicas == 1) return x;
  return x.graph().add({.op = Op::kAllReduce,
                        .type = x.type(),
                        .operands = {x.index()},
                        .attributes = {Dims{replicas}}});
}

Value stop_gradient(Value x) {
  return x.graph().add({.op = Op::kStop, .type = x.type(), .operands = {x.index()}});
}

std::vector<Value> barrier(const std::vector<Value>& values) {
  if (values.empty()) return {};
  Graph& graph = values[0].graph();
  Node node{.op = Op::kBarrier, .type = values[0].type()};
  for (const Value& value : values) node.operands.push_back(value.index());
  const Value all = graph.add(std::move(node));
  std::vector<Value> results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(graph.add({.op = Op::kBarrierResult,
                                 .type = values[i].type(),
                                 .operands = {all.index()},
                                 .attributes = {Dims{static_cast<int64_t>(i)}}}));
  }
  return results;
}

}  // namespace berth::stablehlo
