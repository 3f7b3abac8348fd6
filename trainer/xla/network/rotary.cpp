#include <cmath>

#include "trainer/xla/network/forward_pass.h"

namespace berth {

using stablehlo::concatenate;

Value rotate(const ForwardPass& pass, int64_t layer, Value x) {
  const int64_t half = x.size(3) / 2;
  // The frequency of element i is base^(-2i/D).
  const double step = -std::log(pass.config.rope_base(layer)) / static_cast<double>(half);
  const Value index = convert(iota(pass.graph(), ElementType::kS32, {half}, 0), ElementType::kF32);
  const Value positions = convert(pass.batch.position_ids, ElementType::kF32);  // [R,S]
  const Dims shape = {x.size(0), x.size(2), half};
  const Value angles =
      broadcast(positions, shape, {0, 1}) * broadcast(exp(index * step), shape, {2});
  const Dims all = {x.size(0), x.size(1), x.size(2), half};
  const Value cosines = broadcast(cos(angles), all, {0, 2, 3});
  const Value sines = broadcast(sin(angles), all, {0, 2, 3});
  const Value first = slice(x, 3, 0, half), second = slice(x, 3, half, 2 * half);
  return concatenate({first * cosines - second * sines, second * cosines + first * sines}, 3);
}

}  // namespace berth
