#pragma once

#include <optional>

#include "storage/base/clock.h"

namespace berth {

// Decides by the time when a checkpoint is due, besides --save-steps.
//
// Where nobody chose an interval, it is 100 times as long as a save takes, so that saving costs at
// most 1 % of the time: a save beside the training costs less than it takes. The interval is at
// least five minutes and at most half an hour, which bounds what a kill costs; a save of more than
// 18 s may so cost more than 1 %.
class SavePace {
 public:
  // `minutes`: the interval; 0: the time does not matter; empty: it is chosen. The time runs from
  // now on.
  SavePace(std::optional<double> minutes, Clock steady_clock);

  bool due() const;
  // A save begins, so the time runs from now on.
  void restart() { began_s_ = clock_(); }
  // The last save took so long until it was written.
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
