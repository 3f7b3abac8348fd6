#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace berth {

double Schedule::rate(int64_t steps_done) const {
  constexpr double kPolynomialEnd = 1e-7;
  const auto& [type, peak, warmup, total, power] = options_;
  if (type == ScheduleType::kConstant) return peak;
  if (steps_done < warmup) {
    return peak * static_cast<double>(steps_done) / static_cast<double>(warmup);
  }
  const int64_t decay_steps = std::max<int64_t>(1, total - warmup);
  const int64_t steps_left = std::max<int64_t>(0, total - steps_done);
  const double left = static_cast<double>(steps_left) / static_cast<double>(decay_steps);
  switch (type) {
    case ScheduleType::kCosine:
      return peak * 0.5 * (1 + std::cos(std::numbers::pi * (1 - left)));
    case ScheduleType::kPolynomial: {
      const double end = std::min(peak, kPolynomialEnd);
      return (peak - end) * std::pow(left, power) + end;
    }
    case ScheduleType::kConstantWithWarmup:
      return peak;
    default:
      return peak * left;
  }
}

int64_t warmup_steps(double warmup_ratio, int64_t total_steps) {
  return static_cast<int64_t>(std::ceil(warmup_ratio * static_cast<double>(total_steps)));
}

}  // namespace berth
