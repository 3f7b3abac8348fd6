#pragma once

#include <algorithm>
#include <utility>

#include "storage/base/clock.h"

namespace berth {

// Decides when a long phase logs its progress: at intervals of time, and first after one interval,
// so that a short phase logs nothing. Not thread-safe.
class LogPace {
 public:
  explicit LogPace(double interval_s = 30, Clock clock = steady_clock_s)
      : interval_s_(interval_s), clock_(std::move(clock)) {}

  // Whether the interval has passed since this was last true, or since the beginning.
  bool is_due() {
    const double now_s = clock_();
    if (now_s - last_s_ < interval_s_) return false;
    last_s_ = now_s;
    return true;
  }
  // The average per second of `amount`, which was done since the beginning.
  double rate(double amount) const { return amount / std::max(clock_() - start_s_, 1e-3); }

 private:
  double interval_s_;
  Clock clock_;
  double start_s_ = clock_(), last_s_ = start_s_;
};

}  // namespace berth
