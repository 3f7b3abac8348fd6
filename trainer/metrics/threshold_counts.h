#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trainer/metrics/class_counts.h"

namespace berth {

// The curve of precision over recall of one class: how many examples a threshold on the class's
// probability would predict to be of it, for 201 thresholds at equal distances from 0 to 1. These
// are the thresholds, and the counts, of TensorBoard's PR curves (plugins/pr_curve/summary.py).
// Not thread-safe.
class ThresholdCounts {
 public:
  static constexpr size_t kThresholds = 201;

  // Adds one example with the probability that the model gives to the class, from 0 to 1. One that
  // is not a number is not counted.
  void add(double probability, bool is_of_class);

  int64_t examples() const;
  // The counts where the class is predicted from the threshold i/200 on, for each i. Probabilities
  // are first rounded down to the next threshold.
  std::array<ClassCounts, kThresholds> at_thresholds() const;

 private:
  // By the largest threshold that is not above the probability.
  std::array<int64_t, kThresholds> of_class_{}, others_{};
};

}  // namespace berth
