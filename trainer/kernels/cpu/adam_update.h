#pragma once

#include <cmath>
#include <cstdint>

#include "trainer/kernels/kernels.h"

namespace berth {

// Elements of a parameter that a thread takes at a time; sums go over blocks of as many.
inline constexpr int64_t kUpdateGrain = 16384;

// What the two moments lack of their mean after so many updates, from zeros: 1 - beta^t (Kingma and
// Ba 2015, arXiv:1412.6980).
struct BiasCorrection {
  BiasCorrection(const AdamWOptions& options, uint64_t steps_before)
      : first(1 -
              std::pow(static_cast<double>(options.beta1), static_cast<double>(steps_before + 1))),
        second(1 - std::pow(static_cast<double>(options.beta2),
                            static_cast<double>(steps_before + 1))) {}

  double first, second;
};

}  // namespace berth
