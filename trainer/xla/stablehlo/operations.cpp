#include "trainer/xla/stablehlo/operations.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "storage/base/dtype.h"

namespace berth::stablehlo {
namespace {

int64_t bits_of(double number, ElementType element) {
  switch (element) {
    case ElementType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(number));
    case ElementType::kBF16:
      return to_bf16(static_cast<float>(number));
    default:
      return static_cast<int64_t>(number);
  }
}

// Makes the shapes of all equal, where some are scalars.
void spread_scalars(std::vector<Value>& operands) {
  const Dims* shape = nullptr;
  for (const Value& x : operands) {
    if (x.rank() > 0) shape = &x.shape();
  }
  for (Value& x : operands) {
    if (shape != nullptr && x.rank() == 0) x = broadcast(x, *shape);
  }
}

bool accepts(Op op, ElementType element) {
  if (op <= Op::kIsFinite) return is_float(element);
  if (op <= Op::kMaximum) return element != ElementType::kPred;
  if (op <= Op::kShiftRight) return !is_float(element) && element != ElementType::kS32;
  return true;
}

}  // namespace

Value constant(Graph& graph, double number, ElementType element, Dims shape) {
  return graph.add({.op = Op::kConstant,
                    .type = {element, std::move(shape)},
                    .attributes = {Dims{bits_of(number, element)}}});
}

Value constant(Graph& graph, std::span<const int32_t> numbers) {
  return graph.add({.op = Op::kConstant,
                    .type = {ElementType::kS32, {static_cast<int64_t>(numbers.size())}},
                    .attributes = {Dims(numbers.begin(), numbers.end())}});
}

Value constant(Graph& graph, std::span<const float> numbers) {
  Dims bits;
  for (const float number : numbers) bits.push_back(std::bit_cast<int32_t>(number));
  return graph.add({.op = Op::kConstant,
                    .type = {ElementType::kF32, {static_cast<int64_t>(numbers.size())}},
                    .attributes = {std::move(bits)}});
}

Value iota(Graph& graph, ElementType element, Dims shape, int64_t dimension) {
  return graph.add(
      {.op = Op::kIota, .type = {element, std::move(shape)}, .attributes = {Dims{dimension}}});
}

Value elementwise(Op op, std::vector<Value> operands, Dims attribute) {
  spread_scalars(operands);
  TensorType type = operands[0].type();
  for (const Value& x : operands) {
    if (x.type() != type) fail(name_of(op), "the types differ", operands);
  }
  if (!accepts(op, type.element)) fail(name_of(op), "wrong element type", operands);
  if (op == Op::kIsFinite || op == Op::kCompare) type.element = ElementType::kPred;
  return make(op, std::move(type), operands, {std::move(attribute)});
}

Value select(Value condition, Operand yes, Operand no) {
  const Value value = yes.value ? yes.value : no.value;
  std::vector<Value> x = {condition, yes.beside(value), no.beside(value)};
  spread_scalars(x);
  const bool fits = x[0].element() == ElementType::kPred && x[1].type() == x[2].type() &&
                    x[0].shape() == x[1].shape();
  if (!fits) fail("select", "the types do not fit", x);
  return make(Op::kSelect, x[1].type(), x);
}

Value convert(Value x, ElementType element) {
  return x.element() == element ? x : make(Op::kConvert, {element, x.shape()}, {x});
}

// ---- Shapes -------------------------------------------------------------------------------------

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

// ---- Products, choices of rows, and what a compiler must respect --------------------------------

Value dot(Value x, Value y, const DotDims& dims, ElementType result) {
  const Dims fixed_x = joined(dims.batch_x, dims.contracted_x),
             fixed_y = joined(dims.batch_y, dims.contracted_y);
  const bool fits = is_float(x.element()) && x.element() == y.element() &&
                    (result == ElementType::kF32 || result == x.element()) &&
                    dims.batch_x.size() == dims.batch_y.size() && are_distinct(x.rank(), fixed_x) &&
                    are_distinct(y.rank(), fixed_y) &&
                    sizes(x.shape(), fixed_x) == sizes(y.shape(), fixed_y);
  if (!fits) fail("dot", "the types or dimensions do not fit", {x, y});
  const Dims free_x = sizes(x.shape(), others(x.rank(), fixed_x)),
             free_y = sizes(y.shape(), others(y.rank(), fixed_y));
  return make(Op::kDot, {result, joined(joined(sizes(x.shape(), dims.batch_x), free_x), free_y)},
              {x, y}, {dims.contracted_x, dims.contracted_y, dims.batch_x, dims.batch_y});
}

Value gather_rows(Value table, Value ids) {
  if (table.rank() < 1 || ids.element() != ElementType::kS32) {
    fail("gather_rows", "wrong element type or rank", {table, ids});
  }
  const Dims row(table.shape().begin() + 1, table.shape().end());
  return make(Op::kGatherRows, {table.element(), joined(ids.shape(), row)}, {table, ids});
}

Value scatter_rows(Value x, Value ids, int64_t rows) {
  const bool fits = ids.element() == ElementType::kS32 && x.rank() >= ids.rank() &&
                    std::equal(ids.shape().begin(), ids.shape().end(), x.shape().begin());
  if (!fits) fail("scatter_rows", "the types do not fit", {x, ids});
  const Dims row(x.shape().begin() + ids.rank(), x.shape().end());
  const Value zeros = constant(x.graph(), 0, x.element(), joined({rows}, row));
  return make(Op::kScatterRows, zeros.type(), {zeros, ids, x});
}

Value sort(Value x) {
  const bool fits =
      x.rank() == 1 && (x.element() == ElementType::kU32 || x.element() == ElementType::kU64);
  if (!fits) fail("sort", "wrong element type or rank", {x});
  return make(Op::kSort, x.type(), {x});
}

Value all_reduce(Value x, int64_t replicas) {
  return replicas == 1 ? x : make(Op::kAllReduce, x.type(), {x}, {Dims{replicas}});
}

Value barrier(Value x, Value start) { return make(Op::kBarrier, x.type(), {x, start}); }

Value stop_gradient(Value x) { return make(Op::kStop, x.type(), {x}); }

// ---- Functions of rows --------------------------------------------------------------------------

// They have derivatives of their own: the derivatives of their single operations would keep more
// values.
namespace {

Dims last(Value x) { return {x.rank() - 1}; }

// A number for each row, repeated along x's last dimension.
Value along_rows(Value numbers, Value x) {
  return broadcast(numbers, x.shape(), range(0, numbers.shape().size()));
}

Value mean(Value x) { return reduce_sum(x, last(x)) / static_cast<double>(x.size(-1)); }

}  // namespace

Value softmax(Value x, const std::function<Value(Value)>& then) {
  const Value powers = exp(x - along_rows(reduce_max(x, last(x)), x));
  const Value probabilities = powers / along_rows(reduce_sum(powers, last(x)), x);
  const Value y = then(probabilities);
  return make(Op::kSoftmax, y.type(), {y, x, probabilities});
}

// d * y - p * sum(d * y), where y is the probabilities p times some factors
Value softmax_derivative(Value y, Value probabilities, Value d) {
  const Value products = d * y;
  return products - probabilities * along_rows(reduce_sum(products, last(y)), y);
}

Value normalize(Value x, double epsilon, ElementType result) {
  const Value centered = x - along_rows(mean(x), x);
  const Value scale = rsqrt(mean(centered * centered) + epsilon);
  const Value y = convert(centered * along_rows(scale, x), result);
  return make(Op::kNormalize, y.type(), {y, x, scale});
}

// scale * (d - mean(d) - y * mean(d * y))
Value normalize_derivative(Value y, Value scale, Value d) {
  return (d - along_rows(mean(d), y) - y * along_rows(mean(d * y), y)) * along_rows(scale, y);
}

// ---- Sums of rows by id -------------------------------------------------------------------------

namespace {

// The number of rows that one product adds.
constexpr int64_t kBlock = 32;

// Row i becomes row i + by of x [N,...], behind rows of zeros.
Value shifted(Value x, int64_t by) { return pad(slice(x, 0, 0, x.size(0) - by), 0, by, 0); }

// Where ids are equal: [N,...] by ids [N,...] and `others`, which has fewer dimensions.
Value are_equal(Value ids, Value others) {
  return compare(ids, Comparison::kEqual,
                 broadcast(others, ids.shape(), range(0, others.shape().size())));
}

// x [...,W] where the truth [...] holds, else 0.
Value only_where(Value is_so, Value x) {
  return select(broadcast(is_so, x.shape(), range(0, is_so.shape().size())), x, 0);
}

struct Sorted {
  Value ids, order;  // s32 [N]: ascending, and where each was before
};

// An id and its place are sorted as one number.
Sorted sorted(Value ids, int64_t rows) {
  const int64_t count = ids.size(0);
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1)));
  const bool is_short = static_cast<uint64_t>(rows) >> (32 - bits) == 0;
  const ElementType element = is_short ? ElementType::kU32 : ElementType::kU64;
  const double range = static_cast<double>(int64_t{1} << bits);
  const Value both = sort(convert(ids, element) * range | iota(ids.graph(), element, {count}, 0));
  return {.ids = convert(shift_right(both, bits), ElementType::kS32),
          .order = convert(both & (range - 1), ElementType::kS32)};
}

// For rows x [B,K,W] with ascending ids [B,K]: the sums of each row and of all rows before it that
// have its id.
Value running_sums(Value x, Value ids) {
  const int64_t blocks = x.size(0), width = x.size(2);
  const Dims pairs = {blocks, kBlock, kBlock};
  const Value is_before =
      compare(iota(x.graph(), ElementType::kS32, pairs, 2), Comparison::kLessEqual,
              iota(x.graph(), ElementType::kS32, pairs, 1));
  const Value counts =
      compare(broadcast(ids, pairs, {0, 1}), Comparison::kEqual, broadcast(ids, pairs, {0, 2})) &
      is_before;
  const Value inside =
      dot(convert(counts, ElementType::kF32), x,
          {.contracted_x = {2}, .contracted_y = {1}, .batch_x = {0}, .batch_y = {0}});
  // The sums at the blocks' ends (Hillis and Steele 1986, doi:10.1145/7902.7903).
  Value ends = reshape(slice(inside, 1, kBlock - 1, kBlock), {blocks, width});
  const Value end_ids = reshape(slice(ids, 1, kBlock - 1, kBlock), {blocks});
  for (int64_t by = 1; by < blocks; by *= 2) {
    ends = ends + only_where(are_equal(end_ids, shifted(end_ids, by)), shifted(ends, by));
  }
  const Value goes_on = are_equal(ids, shifted(end_ids, 1));
  return inside + only_where(goes_on, broadcast(shifted(ends, 1), x.shape(), {0, 2}));
}

}  // namespace

// The rows are sorted by their ids, so that rows with one id lie side by side. The last row of each
// id receives the sum.
Value add_rows(Value x, Value ids, int64_t rows) {
  Graph& graph = x.graph();
  const int64_t count = ids.type().elements(), blocks = (count + kBlock - 1) / kBlock,
                filled = blocks * kBlock;
  Dims shape(x.shape().begin() + ids.rank(), x.shape().end());
  shape.insert(shape.begin(), rows);
  if (count == 0) return constant(graph, 0, x.element(), shape);
  const int64_t width = x.type().elements() / count;
  const Value filler =
      constant(graph, static_cast<double>(rows), ElementType::kS32, {filled - count});
  const Value flat_ids = reshape(ids, {count});
  const auto [id, order] =
      sorted(filled == count ? flat_ids : concatenate({flat_ids, filler}, 0), rows);
  const Value ordered = gather_rows(pad(reshape(x, {count, width}), 0, 0, filled - count), order);
  const Value sums =
      running_sums(reshape(ordered, {blocks, kBlock, width}), reshape(id, {blocks, kBlock}));
  const Value next =
      concatenate({slice(id, 0, 1, filled), constant(graph, -1, ElementType::kS32, {1})}, 0);
  const Value nowhere = iota(graph, ElementType::kS32, {filled}, 0) + static_cast<double>(rows + 1);
  const Value target = select(compare(id, Comparison::kNotEqual, next), id, nowhere);
  return reshape(scatter_rows(reshape(sums, {filled, width}), target, rows), shape);
}

}  // namespace berth::stablehlo
