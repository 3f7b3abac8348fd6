#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "storage/base/clock.h"

namespace berth {

// The progress of one transfer. `total` is 0 if the size is unknown.
struct TransferProgress {
  std::string uri;
  bool is_upload = false;
  uint64_t bytes = 0, total = 0;
  double seconds = 0;
  bool finished = false;
};

// May be called by any thread that transfers, but only by one at a time for each transfer.
using TellProgress = std::function<void(const TransferProgress&)>;

// Counts the bytes of one transfer and reports its progress: first after two seconds and then every
// five. If it has reported at all, it also reports success at the end. Thread-safe.
class TransferMeter {
 public:
  // `tell` may be empty; it must outlive this. `about` holds all fields except bytes and seconds.
  TransferMeter(const TellProgress& tell, TransferProgress about, Clock now = steady_clock_s);
  TransferMeter(const TransferMeter&) = delete;
  TransferMeter& operator=(const TransferMeter&) = delete;

  void add(uint64_t bytes);
  void finish();  // call when all bytes have arrived

 private:
  void tell(double now_s);

  const TellProgress& tell_;
  const Clock now_;
  const double began_s_;
  std::mutex mutex_;  // guards the members below
  TransferProgress progress_;
  std::optional<double> reported_s_;  // time of the last report
};

}  // namespace berth
