#include <functional>

#include "trainer/xla/stablehlo/dimensions.h"
#include "trainer/xla/stablehlo/operations.h"

// Functions of rows with derivatives of their own. The derivatives of their single operations would
// keep more values.
namespace berth::stablehlo {
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

}  // namespace berth::stablehlo
