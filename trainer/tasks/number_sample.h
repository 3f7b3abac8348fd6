#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/tasks/evaluation_details.h"

namespace berth {

// Some of the predicted numbers beside the true ones, evenly spaced over the rows, for a plot: at
// most kMost, and at least half of kMost if there are enough rows. Also the variance of all truths.
// Not thread-safe.
class NumberSample {
 public:
  static constexpr size_t kMost = 600;

  void add(NumberPair pair);

  const std::vector<NumberPair>& pairs() const { return pairs_; }
  // The mean squared error of always predicting the mean of the truths (Welford 1962). nullopt
  // where there are none.
  std::optional<double> variance() const;

 private:
  std::vector<NumberPair> pairs_;  // of the rows number 0, stride_, 2 * stride_, ...
  int64_t rows_ = 0, stride_ = 1;
  double mean_ = 0, squares_ = 0;
};

}  // namespace berth
