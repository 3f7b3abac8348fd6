#include <functional>
#include <string>
#include <utility>

#include "trainer/xla/stablehlo/dimensions.h"
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

Value reduce(Op op, double start, Value x, const Dims& dims) {
  if (dims.empty()) return x;
  if (!is_float(x.element()) || !increases(dims) || !are_distinct(x.rank(), dims)) {
    fail("reduce", "wrong dimensions or type", {x});
  }
  const Value from = constant(x.graph(), start, x.element());
  return make(op, {x.element(), sizes(x.shape(), others(x.rank(), dims))}, {x, from}, {dims});
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
  return make(Op::kBroadcast, std::move(type), {x}, {std::move(dims)});
}

Value reshape(Value x, Dims shape) {
  if (x.shape() == shape) return x;
  TensorType type{x.element(), std::move(shape)};
  if (type.elements() != x.type().elements()) fail("reshape", "to " + type.text(), {x});
  return make(Op::kReshape, std::move(type), {x});
}

Value transpose(Value x, const Dims& permutation) {
  const Dims all = range(0, x.shape().size());
  if (permutation.size() != all.size() || !are_distinct(x.rank(), permutation)) {
    fail("transpose", "no permutation of the dimensions", {x});
  }
  if (permutation == all) return x;
  return make(Op::kTranspose, {x.element(), sizes(x.shape(), permutation)}, {x}, {permutation});
}

Value slice(Value x, int64_t dimension, int64_t first, int64_t end) {
  const size_t at = checked("slice", x, dimension);
  if (first < 0 || first > end || end > x.size(dimension)) {
    fail("slice", "elements " + std::to_string(first) + " to " + std::to_string(end), {x});
  }
  if (first == 0 && end == x.size(dimension)) return x;
  TensorType type = x.type();
  type.shape[at] = end - first;
  Dims firsts(type.shape.size()), ends = x.shape();
  firsts[at] = first;
  ends[at] = end;
  return make(Op::kSlice, std::move(type), {x}, {std::move(firsts), std::move(ends)});
}

Value concatenate(const std::vector<Value>& parts, int64_t dimension) {
  const size_t at = checked("concatenate", parts.at(0), dimension);
  TensorType all = parts[0].type();
  all.shape[at] = 0;
  for (const Value& part : parts) {
    if (part.rank() != parts[0].rank()) fail("concatenate", "the ranks differ", parts);
    TensorType type = part.type();
    all.shape[at] += std::exchange(type.shape[at], parts[0].shape()[at]);
    if (type != parts[0].type()) fail("concatenate", "the types do not fit", parts);
  }
  return parts.size() == 1 ? parts[0]
                           : make(Op::kConcatenate, std::move(all), parts, {Dims{dimension}});
}

Value element(Value x, int64_t i) { return reshape(slice(x, 0, i, i + 1), {}); }

Value array_of(std::vector<Value> elements) {
  for (Value& each : elements) each = reshape(each, {1});
  return concatenate(elements, 0);
}

Value pad(Value x, int64_t dimension, int64_t before, int64_t behind) {
  const size_t at = checked("pad", x, dimension);
  if (before < 0 || behind < 0) fail("pad", "negative padding", {x});
  if (before == 0 && behind == 0) return x;
  TensorType type = x.type();
  type.shape[at] += before + behind;
  Dims low(type.shape.size()), high = low;
  low[at] = before;
  high[at] = behind;
  return make(Op::kPad, std::move(type), {x, constant(x.graph(), 0, x.element())},
              {std::move(low), std::move(high)});
}

Value reduce_sum(Value x, const Dims& dims) { return reduce(Op::kReduceSum, 0, x, dims); }
Value reduce_sum(Value x) { return reduce_sum(x, range(0, x.shape().size())); }
Value reduce_max(Value x, const Dims& dims) { return reduce(Op::kReduceMax, -3.0e38, x, dims); }

}  // namespace berth::stablehlo
