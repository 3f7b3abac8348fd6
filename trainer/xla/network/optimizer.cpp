#include "trainer/xla/network/optimizer.h"

#include <algorithm>
#include <cmath>

namespace berth {

using stablehlo::array_of;

namespace {

Value sum_of_squares(Value x) { return reduce_sum(x * x); }

// What all parameters share: scalars, f32.
struct Factors {
  const OptimizerOptions& options;
  // Turns the gradient of the sum of losses into the clipped gradient of their mean.
  Value gradient_scale;
  Value learning_rate;
  // 1 - beta^t after t updates. The moments start as zeros, so they are too small by this factor
  // (Kingma and Ba 2015, arXiv:1412.6980).
  Value first_correction, second_correction;
};

// 1 - beta^t without cancellation.
Value bias_correction(float beta, Value updates) {
  return negate(expm1(updates * std::log(static_cast<double>(beta))));
}

struct Moved {
  Value value, first_moment, second_moment;
};

// Both optimizers move by the first moment over the root of the second. LAMB adds the weight decay
// to that step, and scales it by the size of the weights.
Moved move(const Factors& factors, const ParameterSpec& spec, double rate_scale, Value w, Value g,
           Value m, Value v) {
  const auto& [beta1, beta2, epsilon] = factors.options.adamw;
  const double decay = spec.decays ? factors.options.weight_decay : 0;
  g = g * factors.gradient_scale;
  m = m * static_cast<double>(beta1) + g * static_cast<double>(1.0f - beta1);
  v = v * static_cast<double>(beta2) + g * g * static_cast<double>(1.0f - beta2);
  const Value denominator =
      sqrt(v) * rsqrt(factors.second_correction) + static_cast<double>(epsilon);
  const Value rate = factors.learning_rate * rate_scale;
  if (factors.options.type == OptimizerType::kAdamW) {
    const Value decayed = decay > 0 ? w * (1 - rate * decay) : w;
    return {decayed - m / denominator * (rate / factors.first_correction), m, v};
  }
  Value step = m / factors.first_correction / denominator;
  if (decay > 0) step = step + w * decay;
  if (!spec.decays) return {w - step * rate, m, v};
  const Value of_weights = sum_of_squares(w), of_step = sum_of_squares(step);
  const Value has_sizes =
      compare(of_weights, Comparison::kGreater, 0) & compare(of_step, Comparison::kGreater, 0);
  const Value trust_ratio = select(has_sizes, sqrt(of_weights / select(has_sizes, of_step, 1)), 1);
  return {w - step * (rate * trust_ratio), m, v};
}

// 1 / x, or 0 where x is not positive.
Value inverse(Value x) {
  const Value is_positive = compare(x, Comparison::kGreater, 0);
  return select(is_positive, 1 / select(is_positive, x, 1), 0);
}

}  // namespace

Update apply_gradients(const OptimizerOptions& options, std::span<const ParameterSpec> specs,
                       const OptimizerState& state, const SummedGradients& summed,
                       Value steps_before, Value learning_rate) {
  Value squares = constant(learning_rate.graph(), 0);
  for (const Value& gradient : summed.gradients) squares = squares + sum_of_squares(gradient);
  const Value mean = inverse(summed.examples);
  const Value norm = sqrt(squares) * mean;
  Value scale = mean;
  if (options.max_grad_norm > 0) {
    const Value most = constant(norm.graph(), options.max_grad_norm);
    scale = select(compare(norm, Comparison::kGreater, most), mean * (most * inverse(norm)), mean);
  }
  const Value updates = convert(steps_before, ElementType::kF32) + 1;
  const Factors factors{.options = options,
                        .gradient_scale = scale,
                        .learning_rate = learning_rate,
                        .first_correction = bias_correction(options.adamw.beta1, updates),
                        .second_correction = bias_correction(options.adamw.beta2, updates)};
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  const Value is_sound = is_finite(summed.loss_sum) & is_finite(norm);
  Update update{.state = {}, .outcome = array_of({summed.loss_sum, summed.examples, norm})};
  size_t i = 0;
  for (const ParameterSpec& spec : specs) {
    if (!spec.trains) continue;
    const auto layers_above = static_cast<double>(deepest - spec.depth);
    const double rate_scale =
        static_cast<double>(static_cast<float>(std::pow(options.layerwise_decay, layers_above)));
    const Value w = state.values[i], m = state.first_moments[i], v = state.second_moments[i];
    const Moved moved = move(factors, spec, rate_scale, w, summed.gradients[i], m, v);
    update.state.values.push_back(select(is_sound, moved.value, w));
    update.state.first_moments.push_back(select(is_sound, moved.first_moment, m));
    update.state.second_moments.push_back(select(is_sound, moved.second_moment, v));
    ++i;
  }
  return update;
}

}  // namespace berth
