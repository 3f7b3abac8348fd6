#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace berth {

// The largest magnitude among `values`. 0 if there are none.
inline double largest(std::span<const float> values) {
  double result = 0;
  for (const float value : values) result = std::max(result, std::abs(static_cast<double>(value)));
  return result;
}

}  // namespace berth
