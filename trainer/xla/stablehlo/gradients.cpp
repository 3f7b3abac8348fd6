#include "trainer/xla/stablehlo/gradients.h"

#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

// What a node adds to the derivatives of a loss by its operands, in their order. An operand without
// a derivative, such as ids, has an empty Value, or none if no other follows.
using Derivatives = std::vector<Value>;

// y = f(x[0], x[1], ...), with the derivative d of a loss by y. Derivatives are f32. The given
// values are of that type, too, except the factors of a product.
struct Applied {
  const Node& node;
  const std::vector<Value>& x;
  Value y, d;

  const Dims& shape(size_t i = 0) const { return x[i].shape(); }
  Value zeros() const { return constant(d.graph(), 0, d.element(), d.shape()); }
};

Value of_broadcast(const Applied& a) {
  const Dims& dims = a.node.attributes[0];
  Dims summed = others(a.d.rank(), dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (a.shape()[i] == 1 && a.d.size(dims[i]) > 1) summed.push_back(dims[i]);
  }
  std::sort(summed.begin(), summed.end());
  return reshape(reduce_sum(a.d, summed), a.shape());
}

Value of_sum(const Applied& a) {
  return broadcast(a.d, a.shape(), others(a.x[0].rank(), a.node.attributes[0]));
}

Value of_slice(const Applied& a) {
  Value d = a.d;
  const auto& [first, end, unused0, unused1] = a.node.attributes;
  for (size_t i = 0; i < first.size(); ++i) {
    d = pad(d, static_cast<int64_t>(i), first[i], a.shape()[i] - end[i]);
  }
  return d;
}

Value of_pad(const Applied& a) {
  Value d = a.d;
  const Dims& before = a.node.attributes[0];
  for (size_t i = 0; i < before.size(); ++i) {
    d = slice(d, static_cast<int64_t>(i), before[i], before[i] + a.shape()[i]);
  }
  return d;
}

Derivatives of_concatenate(const Applied& a) {
  Derivatives all;
  const int64_t dimension = a.node.attributes[0][0];
  int64_t first = 0;
  for (const Value& part : a.x) {
    const int64_t end = first + part.size(dimension);
    all.push_back(slice(a.d, dimension, first, end));
    first = end;
  }
  return all;
}

// For so few rows, a product with the truth of "row i was gathered at j" is the fastest sum.
constexpr int64_t kFewRows = 64;

Value of_gather(const Applied& a) {
  const TensorType& table = a.x[0].type();
  const Value ids = a.x[1];
  const int64_t rows = table.shape[0], count = ids.type().elements();
  if (rows > kFewRows || count == 0) return add_rows(a.d, ids, rows);
  const Value row = iota(ids.graph(), ElementType::kS32, {count, rows}, 1);
  const Value is_row =
      compare(broadcast(reshape(ids, {count}), {count, rows}, {0}), Comparison::kEqual, row);
  const Value sums =
      dot(convert(is_row, ElementType::kF32), reshape(a.d, {count, table.elements() / rows}),
          {.contracted_x = {0}, .contracted_y = {0}});
  return reshape(sums, table.shape);
}

// By one factor of a product whose result has the dimensions [batch, free of x, free of y]: the
// product of d with the other factor over the other's free dimensions.
Value of_factor(const Applied& a, bool is_first) {
  const auto& [cx, cy, bx, by] = a.node.attributes;
  const Dims &contracted = is_first ? cx : cy, &batch = is_first ? bx : by;
  const Dims &other_contracted = is_first ? cy : cx, &other_batch = is_first ? by : bx;
  const Value factor = a.x[is_first ? 0 : 1], other = a.x[is_first ? 1 : 0];
  const Dims free = others(factor.rank(), joined(contracted, batch));
  const Dims other_free = others(other.rank(), joined(other_contracted, other_batch));
  const size_t before = batch.size() + (is_first ? free.size() : 0);
  const Value product = dot(convert(a.d, other.element()), other,
                            {.contracted_x = range(before, other_free.size()),
                             .contracted_y = other_free,
                             .batch_x = range(0, batch.size()),
                             .batch_y = other_batch},
                            is_first || !batch.empty() ? a.node.type.element : ElementType::kF32);
  // The product's dimensions are the factor's: its batch, its free ones, and the contracted ones in
  // the order in which the other factor has them.
  Dims order = joined(batch, free);
  for (int64_t i = 0; i < other.rank(); ++i) {
    const auto at = std::find(other_contracted.begin(), other_contracted.end(), i);
    if (at != other_contracted.end()) {
      order.push_back(contracted[static_cast<size_t>(at - other_contracted.begin())]);
    }
  }
  return convert(transpose(product, inverse(order)), ElementType::kF32);
}

// The operand that was chosen has the derivative.
Derivatives of_select(const Applied& a) {
  return {Value(), select(a.x[0], a.d, a.zeros()), select(a.x[0], a.zeros(), a.d)};
}
Derivatives of_maximum(const Applied& a) {
  const Value is_first = compare(a.x[0], Comparison::kGreater, a.x[1]);
  return {select(is_first, a.d, a.zeros()), select(is_first, a.zeros(), a.d)};
}

// Rounded as the result is, because the layers before this one keep it.
Value of_normalize(const Applied& a) {
  const Value d = normalize_derivative(a.y, a.x[2], a.d);
  return convert(convert(d, a.node.type.element), ElementType::kF32);
}

Derivatives both(Value of_first, Value of_second) { return {of_first, of_second}; }

const auto& rules() {
  using A = const Applied&;
  using D = Derivatives;
  // a.d is the derivative by the result, and the rules give the derivatives by the operands.
  static const std::map<Op, D (*)(A)> all = {
      {Op::kNegate, [](A a) { return D{negate(a.d)}; }},
      {Op::kExp, [](A a) { return D{a.d * a.y}; }},
      {Op::kExpm1, [](A a) { return D{a.d * (a.y + 1)}; }},
      {Op::kLog, [](A a) { return D{a.d / a.x[0]}; }},
      {Op::kLog1p, [](A a) { return D{a.d / (a.x[0] + 1)}; }},
      {Op::kTanh, [](A a) { return D{a.d * (1 - a.y * a.y)}; }},
      {Op::kSqrt, [](A a) { return D{a.d * 0.5 / a.y}; }},
      {Op::kRsqrt, [](A a) { return D{a.d * -0.5 * (a.y * a.y * a.y)}; }},
      {Op::kErf,
       [](A a) { return D{a.d * (2 * std::numbers::inv_sqrtpi) * exp(negate(a.x[0] * a.x[0]))}; }},
      {Op::kCosine, [](A a) { return D{negate(a.d * sin(a.x[0]))}; }},
      {Op::kSine, [](A a) { return D{a.d * cos(a.x[0])}; }},
      {Op::kAdd, [](A a) { return both(a.d, a.d); }},
      {Op::kSubtract, [](A a) { return both(a.d, negate(a.d)); }},
      {Op::kMultiply, [](A a) { return both(a.d * a.x[1], a.d * a.x[0]); }},
      {Op::kDivide, [](A a) { return both(a.d / a.x[1], negate(a.d * a.y / a.x[1])); }},
      {Op::kMaximum, of_maximum},
      {Op::kSelect, of_select},
      {Op::kConvert, [](A a) { return D{a.d}; }},
      {Op::kBroadcast, [](A a) { return D{of_broadcast(a)}; }},
      {Op::kReshape, [](A a) { return D{reshape(a.d, a.shape())}; }},
      {Op::kTranspose, [](A a) { return D{transpose(a.d, inverse(a.node.attributes[0]))}; }},
      {Op::kSlice, [](A a) { return D{of_slice(a)}; }},
      {Op::kConcatenate, of_concatenate},
      {Op::kPad, [](A a) { return D{of_pad(a)}; }},
      {Op::kReduceSum, [](A a) { return D{of_sum(a)}; }},
      {Op::kDot, [](A a) { return both(of_factor(a, true), of_factor(a, false)); }},
      {Op::kGatherRows, [](A a) { return D{of_gather(a)}; }},
      {Op::kSoftmax,
       [](A a) {
         return D{Value(), softmax_derivative(a.y, a.x[2], a.d)};
       }},
      {Op::kNormalize, [](A a) {
         return D{Value(), of_normalize(a)};
       }}};
  return all;
}

// The node computes y of x, and `d` is the loss's derivative by y. y and x may be copies of the
// node's and its operands'. Throws Error{kInternal} where the operation has no derivative.
Derivatives derivatives(const Node& node, const std::vector<Value>& x, Value y, Value d) {
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) fail(name_of(node.op), "there is no derivative", x);
  if (node.op == Op::kDot) return rule->second({node, x, y, d});
  const auto widened = [](Value value) {
    return value.element() == ElementType::kBF16 ? convert(value, ElementType::kF32) : value;
  };
  std::vector<Value> wide;
  for (const Value& value : x) wide.push_back(widened(value));
  return rule->second({node, wide, widened(y), d});
}

// Whether each node up to `last` depends on one of `wrt` by operations that have a derivative.
std::vector<bool> dependence(const Graph& graph, uint32_t last, std::span<const Value> wrt) {
  std::vector<bool> depends(last + 1);
  for (const Value& value : wrt) {
    if (value.index() <= last) depends[value.index()] = true;
  }
  for (uint32_t i = 0; i <= last; ++i) {
    const Node& node = graph.node(i);
    if (!is_float(node.type.element) || node.op == Op::kReduceMax || node.op == Op::kStop) continue;
    for (const uint32_t operand : node.operands) {
      if (depends[operand]) depends[i] = true;
    }
  }
  return depends;
}

// The values that derivatives refer to: nodes as they are, or, for the nodes of a part of the
// graph, copies behind a barrier. Reverse mode goes from the last node to the first.
class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph) {}

  // Says that the derivatives of node `index` come next, and that its own is d. The copies of a
  // part are not computed before the first d that is given for it.
  void enter(uint32_t index, Value d) {
    if (graph_.part(index) == part_) return;
    part_ = graph_.part(index);
    start_ = d;
    copies_.clear();
  }

  // What node `index`, or an operand of the node entered, has as its value.
  Value value(uint32_t index) {
    const bool is_recomputed = part_ != 0 && graph_.part(index) == part_;
    return is_recomputed ? copy(index) : Value(graph_, index);
  }

 private:
  Value copy(uint32_t index) {
    if (const auto known = copies_.find(index); known != copies_.end()) return known->second;
    Node node = graph_.node(index);
    Value made(graph_, index);
    if (node.op == Op::kConstant || node.op == Op::kIota) {
      // Costs nothing to keep.
    } else if (graph_.part(index) != part_) {
      made = barrier(made, start_);
    } else {
      for (uint32_t& operand : node.operands) operand = copy(operand).index();
      made = graph_.add(std::move(node));
    }
    return copies_[index] = made;
  }

  Graph& graph_;
  int32_t part_ = 0;
  Value start_{};  // the copies wait for it
  std::map<uint32_t, Value> copies_;
};

}  // namespace

std::vector<Value> gradients(Value loss, std::span<const Value> wrt) {
  if (loss.rank() != 0 || !is_float(loss.element())) fail("gradients", "of no number", {loss});
  Graph& graph = loss.graph();
  const std::vector<bool> depends = dependence(graph, loss.index(), wrt);
  std::vector<Value> derivative(loss.index() + 1);
  derivative[loss.index()] = constant(graph, 1);
  Recomputation values(graph);
  // From the last node to the first: each node adds to the derivatives of its operands.
  for (uint32_t i = loss.index() + 1; i-- > 0;) {
    const Node& node = graph.node(i);
    if (!derivative[i] || !depends[i] || node.operands.empty()) continue;
    values.enter(i, derivative[i]);
    std::vector<Value> x;
    for (const uint32_t operand : node.operands) x.push_back(values.value(operand));
    const Derivatives all = derivatives(node, x, values.value(i), derivative[i]);
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k] || !depends[node.operands[k]]) continue;
      Value& sum = derivative[node.operands[k]];
      sum = sum ? sum + all[k] : all[k];
    }
  }
  // What the loss does not depend on has the derivative 0.
  std::vector<Value> results;
  for (const Value& value : wrt) {
    const bool reached = value.index() <= loss.index() && derivative[value.index()];
    results.push_back(reached ? convert(derivative[value.index()], value.element())
                              : constant(graph, 0, value.element(), value.shape()));
  }
  return results;
}

}  // namespace berth::stablehlo
