#include "trainer/xla/stablehlo/derivatives.h"

#include <algorithm>
#include <numbers>
#include <numeric>

#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

// Node `y` = f(x, x2), whose derivative is `d`.
struct Rule {
  Recomputation& values;
  uint32_t index;
  const Node& node;
  Value d;

  Value y() const { return values.value(index); }
  Value x(size_t i = 0) const { return values.value(node.operands[i]); }
  const TensorType& type(size_t i = 0) const { return values.graph().node(node.operands[i]).type; }
  Value zeros() const { return constant(d.graph(), 0, d.element(), d.shape()); }
};

// Dimensions [0, rank) that are not in `dims`.
Dims others(int64_t rank, const Dims& dims) {
  Dims rest;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) rest.push_back(i);
  }
  return rest;
}

Dims range(size_t first, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(first));
  return dims;
}

Value of_broadcast(const Rule& rule) {
  const Dims& dims = rule.node.attributes[0];
  const Dims& shape = rule.type().shape;
  Dims summed = others(rule.d.rank(), dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (shape[i] == 1 && rule.d.size(dims[i]) > 1) summed.push_back(dims[i]);
  }
  std::sort(summed.begin(), summed.end());
  return reshape(reduce_sum(rule.d, summed), shape);
}

Value of_slice(const Rule& rule) {
  Value d = rule.d;
  for (int64_t i = 0; i < d.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    d = pad(d, i, rule.node.attributes[0][at], rule.type().shape[at] - rule.node.attributes[1][at]);
  }
  return d;
}

Value of_pad(const Rule& rule) {
  Value d = rule.d;
  for (int64_t i = 0; i < d.rank(); ++i) {
    const int64_t before = rule.node.attributes[0][static_cast<size_t>(i)];
    d = slice(d, i, before, before + rule.type().shape[static_cast<size_t>(i)]);
  }
  return d;
}

Value of_transpose(const Rule& rule) {
  const Dims& permutation = rule.node.attributes[0];
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return transpose(rule.d, inverse);
}

Derivatives of_concatenate(const Rule& rule) {
  Derivatives all;
  const int64_t dimension = rule.node.attributes[0][0];
  int64_t first = 0;
  for (size_t i = 0; i < rule.node.operands.size(); ++i) {
    const int64_t size = rule.type(i).shape[static_cast<size_t>(dimension)];
    all.emplace_back(rule.node.operands[i], slice(rule.d, dimension, first, first + size));
    first += size;
  }
  return all;
}

// Adding many rows to few is slow on accelerators, and in no fixed order on GPUs. A product with
// the truth of "row i was gathered at j" does the same.
constexpr int64_t kFewRows = 64;

Value of_gather(const Rule& rule) {
  const TensorType& table = rule.type();
  const Value ids = rule.x(1);
  const int64_t rows = table.shape[0], count = ids.type().elements();
  if (rows > kFewRows || count == 0) return scatter_rows(rule.d, ids, rows);
  Graph& graph = ids.graph();
  const Value row = iota(graph, ElementType::kS32, {count, rows}, 1);
  const Value is_row =
      compare(broadcast(reshape(ids, {count}), {count, rows}, {0}), Comparison::kEqual, row);
  const Value sums =
      dot(convert(is_row, rule.d.element()), reshape(rule.d, {count, table.elements() / rows}),
          {.contracted_x = {0}, .contracted_y = {0}});
  return convert(reshape(sums, table.shape), table.element);
}

// By one factor of a product whose result has the dimensions [batch, free of x, free of y]: the
// product of d with the other factor over the other's free dimensions.
Value of_factor(const Rule& rule, bool is_first) {
  const auto& [cx, cy, bx, by] = rule.node.attributes;
  const Dims &contracted = is_first ? cx : cy, &batch = is_first ? bx : by;
  const Dims &other_contracted = is_first ? cy : cx, &other_batch = is_first ? by : bx;
  const Value other = rule.x(is_first ? 1 : 0);
  const TensorType& type = rule.type(is_first ? 0 : 1);
  const auto fixed = [](const Dims& a, const Dims& b) {
    Dims both = a;
    both.insert(both.end(), b.begin(), b.end());
    return both;
  };
  const Dims free = others(type.rank(), fixed(contracted, batch));
  const Dims other_free = others(other.rank(), fixed(other_contracted, other_batch));
  const size_t before = batch.size() + (is_first ? free.size() : 0);
  const Value product = dot(convert(rule.d, other.element()), other,
                            {.contracted_x = range(before, other_free.size()),
                             .contracted_y = other_free,
                             .batch_x = range(0, batch.size()),
                             .batch_y = other_batch});
  // The product's dimensions are the factor's: its batch, its free ones, and the contracted ones in
  // the order in which the other factor has them.
  Dims order = fixed(batch, free);
  for (int64_t i = 0; i < other.rank(); ++i) {
    const auto at = std::find(other_contracted.begin(), other_contracted.end(), i);
    if (at != other_contracted.end()) {
      order.push_back(contracted[static_cast<size_t>(at - other_contracted.begin())]);
    }
  }
  Dims permutation(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    permutation[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return convert(transpose(product, permutation), type.element);
}

// By the only operand of an operation that works element by element.
Value of_function(const Rule& rule) {
  const Value d = rule.d;
  switch (rule.node.op) {
    case Op::kNegate:
      return negate(d);
    case Op::kExp:
      return d * rule.y();
    case Op::kExpm1:
      return d * (rule.y() + 1);
    case Op::kLog:
      return d / rule.x();
    case Op::kLog1p:
      return d / (rule.x() + 1);
    case Op::kTanh:
      return d * (1 - rule.y() * rule.y());
    case Op::kSqrt:
      return d * 0.5 / rule.y();
    case Op::kRsqrt:
      return d * -0.5 * (rule.y() * rule.y() * rule.y());
    case Op::kErf:
      return d * (2 * std::numbers::inv_sqrtpi) * exp(negate(rule.x() * rule.x()));
    case Op::kLogistic:
      return d * (rule.y() * (1 - rule.y()));
    default:
      return convert(d, rule.type().element);
  }
}

}  // namespace

Derivatives derivatives(Recomputation& values, uint32_t index, Value d) {
  const Node& node = values.graph().node(index);
  const Rule rule{values, index, node, d};
  const auto first = [&](Value of_x) { return Derivatives{{node.operands[0], of_x}}; };
  const auto both = [&](Value of_x, Value of_y) {
    return Derivatives{{node.operands[0], of_x}, {node.operands[1], of_y}};
  };
  const auto choice = [&](Comparison comparison) {
    const Value is_first = compare(rule.x(0), comparison, rule.x(1));
    return both(select(is_first, d, rule.zeros()), select(is_first, rule.zeros(), d));
  };
  switch (node.op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kIota:
    case Op::kBarrier:  // its results refer to its operands
      return {};
    case Op::kAdd:
      return both(d, d);
    case Op::kSubtract:
      return both(d, negate(d));
    case Op::kMultiply:
      return both(d * rule.x(1), d * rule.x(0));
    case Op::kDivide:
      return both(d / rule.x(1), negate(d * rule.y() / rule.x(1)));
    case Op::kMaximum:
      return choice(Comparison::kGreater);
    case Op::kMinimum:
      return choice(Comparison::kLess);
    case Op::kSelect:
      return {{node.operands[1], select(rule.x(0), d, rule.zeros())},
              {node.operands[2], select(rule.x(0), rule.zeros(), d)}};
    case Op::kBroadcast:
      return first(of_broadcast(rule));
    case Op::kReshape:
      return first(reshape(d, rule.type().shape));
    case Op::kTranspose:
      return first(of_transpose(rule));
    case Op::kSlice:
      return first(of_slice(rule));
    case Op::kConcatenate:
      return of_concatenate(rule);
    case Op::kPad:
      return first(of_pad(rule));
    case Op::kReduceSum:
      return first(broadcast(d, rule.type().shape, others(rule.type().rank(), node.attributes[0])));
    case Op::kDot:
      return both(of_factor(rule, true), of_factor(rule, false));
    case Op::kGatherRows:
      return first(of_gather(rule));
    case Op::kScatterRows:
      return {{node.operands[2], gather_rows(d, rule.x(1))}};
    case Op::kBarrierResult:
      return {{values.graph()
                   .node(node.operands[0])
                   .operands[static_cast<size_t>(node.attributes[0][0])],
               d}};
    case Op::kAllReduce:
      fail("gradients", "all_reduce has no derivative", {rule.x()});
    default:
      return first(of_function(rule));
  }
}

}  // namespace berth::stablehlo
