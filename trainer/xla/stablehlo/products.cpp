#include <algorithm>
#include <utility>

#include "trainer/xla/stablehlo/dimensions.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {

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

}  // namespace berth::stablehlo
