#include "trainer/tasks/number_sample.h"

namespace berth {

void NumberSample::add(NumberPair pair) {
  if (rows_ % stride_ == 0) {
    if (pairs_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) pairs_[i] = pairs_[2 * i];
      pairs_.resize(kMost / 2);
      stride_ *= 2;
    }
    pairs_.push_back(pair);
  }
  ++rows_;
  const double distance = static_cast<double>(pair.truth) - mean_;
  mean_ += distance / static_cast<double>(rows_);
  squares_ += distance * (static_cast<double>(pair.truth) - mean_);
}

std::optional<double> NumberSample::variance() const {
  if (rows_ == 0) return std::nullopt;
  return squares_ / static_cast<double>(rows_);
}

}  // namespace berth
