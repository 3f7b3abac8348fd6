#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/clock.h"
#include "storage/verified_storage.h"

namespace berth {

// A progress bar: "Epoch 1/3  125/282 [=====>.....] 44%  412 ex/s  ETA 0:23". It takes fewer than
// `columns` columns: where the line is too long the bar shrinks, then disappears, and then
// `details` disappear from the last one on. `fraction` is from 0 to 1.
std::string bar_line(const std::string& head, double fraction,
                     const std::vector<std::string>& details, int columns);

// `value` in a printf format such as "%.3g"; "-" where it is not finite.
std::string number_text(const char* format, double value);

// "0:23", "12:05", "3:00:59"; "-" where `seconds` is negative, huge or not finite.
std::string duration_text(double seconds);

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

// Logs the progress of a large transfer as one line. Thread-safe.
void log_transfer(const TransferProgress& progress);

// The line: "reading gs://b/o: 1.5 GiB of 4.0 GiB, 104 MiB/s, 25 s left".
std::string transfer_text(const TransferProgress& progress);

}  // namespace berth
