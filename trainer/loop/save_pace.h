#pragma once

#include <optional>

#include "storage/base/clock.h"

namespace berth {

// Decides by the time when a checkpoint is due, besides --save-steps.
//
// If the user chose no interval, it is 100 times as long as a save takes. So saving costs at most 1
// % of the time, or less, because a save runs beside the training. The interval is at least five
// minutes and at most half an hour, so that a kill loses little. So a save that takes more than 18
// s may cost more than 1 %.
class SavePace {
 public:
  // `minutes`: the interval; 0: the time does not matter; empty: it is chosen. The time runs from
  // now on.
  SavePace(std::optional<double> minutes, Clock steady_clock);

  bool due() const;
  // A save begins, so the time runs from now on.
  void restart() { began_s_ = clock_(); }
  // The last save took `seconds`.
  void took(double seconds);

  bool is_chosen() const { return !minutes_; }
  double interval_s() const { return interval_s_; }

 private:
  const std::optional<double> minutes_;
  const Clock clock_;
  double interval_s_;
  double began_s_;
};

}  // namespace berth
