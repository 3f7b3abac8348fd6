#include "trainer/inputs/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace berth {
namespace {

// How often the width goes into BERT-base's.
double narrowness_of(int64_t hidden_size) { return 768 / static_cast<double>(hidden_size); }

// At most 1e-3, in two digits.
double readable_rate(double rate) {
  constexpr double kHighest = 1e-3;
  rate = std::min(kHighest, rate);
  const double two_digits = std::pow(10.0, 1 - std::floor(std::log10(rate)));
  return std::round(rate * two_digits) / two_digits;
}

}  // namespace

double Schedule::rate(int64_t steps_done) const {
  constexpr double kPolynomialEnd = 1e-7;
  const auto& [type, peak, warmup, total, power, end_rate] = options_;
  if (type == ScheduleType::kConstant) return peak;
  if (steps_done < warmup) {
    return peak * static_cast<double>(steps_done) / static_cast<double>(warmup);
  }
  const int64_t decay_steps = std::max<int64_t>(1, total - warmup);
  const int64_t steps_left = std::max<int64_t>(0, total - steps_done);
  const double left = static_cast<double>(steps_left) / static_cast<double>(decay_steps);
  const double least = type == ScheduleType::kPolynomial ? kPolynomialEnd : 0;
  const double end = std::min(peak, std::max(end_rate, least));
  switch (type) {
    case ScheduleType::kCosine:
      return (peak - end) * 0.5 * (1 + std::cos(std::numbers::pi * (1 - left))) + end;
    case ScheduleType::kPolynomial:
      return (peak - end) * std::pow(left, power) + end;
    case ScheduleType::kConstantWithWarmup:
      return peak;
    default:
      return (peak - end) * left + end;
  }
}

double default_learning_rate(int64_t hidden_size) {
  const double narrowness = std::max(1.0, narrowness_of(hidden_size));
  return readable_rate(kBertLearningRate * std::pow(narrowness, 1.5));
}

double default_pretraining_rate(int64_t hidden_size) {
  constexpr double kElectraBase = 2e-4, kElectraSmall = 5e-4;  // 768 and 256 wide
  const double power = std::log(kElectraSmall / kElectraBase) / std::log(3);
  return readable_rate(kElectraBase * std::pow(narrowness_of(hidden_size), power));
}

int64_t warmup_steps(double warmup_ratio, int64_t total_steps) {
  return static_cast<int64_t>(std::ceil(warmup_ratio * static_cast<double>(total_steps)));
}

}  // namespace berth
