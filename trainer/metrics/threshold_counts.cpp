#include "trainer/metrics/threshold_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace berth {

void ThresholdCounts::add(double probability, bool is_of_class) {
  if (!std::isfinite(probability)) return;
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(kThresholds - 1);
  ++(is_of_class ? of_class_ : others_)[static_cast<size_t>(place)];
}

int64_t ThresholdCounts::examples() const {
  return std::accumulate(of_class_.begin(), of_class_.end(), int64_t{0}) +
         std::accumulate(others_.begin(), others_.end(), int64_t{0});
}

std::array<ClassCounts, ThresholdCounts::kThresholds> ThresholdCounts::at_thresholds() const {
  std::array<ClassCounts, kThresholds> counts{};
  ClassCounts sum{.support = std::accumulate(of_class_.begin(), of_class_.end(), int64_t{0})};
  for (size_t i = kThresholds; i-- > 0;) {
    sum.true_positives += of_class_[i];
    sum.predicted += of_class_[i] + others_[i];
    counts[i] = sum;
  }
  return counts;
}

}  // namespace berth
