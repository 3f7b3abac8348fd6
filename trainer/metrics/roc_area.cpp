#include "trainer/metrics/roc_area.h"

#include <algorithm>
#include <cmath>

namespace berth {
namespace {

constexpr size_t kSteps = size_t{1} << 16;
constexpr double kFarthest = 16;

size_t step_of(float logit) {
  const double bounded = std::clamp(static_cast<double>(logit), -kFarthest, kFarthest);
  const double place = (bounded + kFarthest) / (2 * kFarthest) * static_cast<double>(kSteps);
  return std::min(kSteps - 1, static_cast<size_t>(place));
}

}  // namespace

RocArea::RocArea() : positive_(kSteps), negative_(kSteps) {}

void RocArea::add(float logit, bool is_positive, double weight) {
  if (std::isnan(logit)) return;  // of a model that diverged
  (is_positive ? positive_ : negative_)[step_of(logit)] += weight;
}

double RocArea::area() const {
  double area = 0, positives = 0, negatives = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    area += positive_[step] * (negatives + negative_[step] / 2);
    positives += positive_[step];
    negatives += negative_[step];
  }
  return positives > 0 && negatives > 0 ? area / (positives * negatives) : 0.5;
}

}  // namespace berth
