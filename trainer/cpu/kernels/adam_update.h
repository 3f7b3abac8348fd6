#pragma once

#include <cmath>
#include <cstdint>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {

// Elements of a parameter that a thread takes at a time; sums go over blocks of as many.
inline constexpr int64_t kUpdateGrain = 16384;

// The divisors that remove the bias of the two moments, which started from zeros: 1 - beta^t after
// t updates (Kingma and Ba 2015, arXiv:1412.6980).
struct BiasCorrection {
  BiasCorrection(const AdamWOptions& options, uint64_t steps_before)
      : first(1 -
              std::pow(static_cast<double>(options.beta1), static_cast<double>(steps_before + 1))),
        second(1 - std::pow(static_cast<double>(options.beta2),
                            static_cast<double>(steps_before + 1))) {}

  double first, second;
};

// The factors of one AdamW update of a range; `gradient_scale` is the result of
// StepState::finish_gradients().
inline AdamWFactors adamw_factors(const UpdateRange& range, const AdamWOptions& options,
                                  const UpdateInputs& inputs, float gradient_scale) {
  const BiasCorrection correction(options, inputs.step);
  const double rate =
      static_cast<double>(inputs.learning_rate) * static_cast<double>(range.rate_scale);
  return {.gradient_scale = gradient_scale,
          .keep = static_cast<float>(1 - rate * static_cast<double>(range.weight_decay)),
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .step_size = static_cast<float>(rate / correction.first),
          .inverse_root_correction = static_cast<float>(1 / std::sqrt(correction.second)),
          .epsilon = options.epsilon};
}

}  // namespace berth
