#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "storage/base/clock.h"

namespace berth {

// A transfer so far. `bytes` of `total` (0: not known).
struct TransferProgress {
  std::string uri;
  bool is_upload = false;
  uint64_t bytes = 0, total = 0;
  double seconds = 0;
  bool finished = false;
};

// Called by whichever thread transfers, one at a time for one transfer.
using TellProgress = std::function<void(const TransferProgress&)>;

// Counts what one transfer moves and tells it: after two seconds, then every five, and, where it
// was told of at all, once it has succeeded. Thread-safe.
class TransferMeter {
 public:
  // `tell` may be empty; it outlives this. `about` has everything but the bytes and the seconds.
  TransferMeter(const TellProgress& tell, TransferProgress about, Clock now = steady_clock_s);
  TransferMeter(const TransferMeter&) = delete;
  TransferMeter& operator=(const TransferMeter&) = delete;

  void add(uint64_t bytes);
  void finish();  // all has arrived: the last that is told

 private:
  void tell(double now_s);

  const TellProgress& tell_;
  const Clock now_;
  const double began_s_;
  std::mutex mutex_;  // of what follows
  TransferProgress progress_;
  std::optional<double> told_s_;  // the last time
};

}  // namespace berth
