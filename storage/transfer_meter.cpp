#include "storage/transfer_meter.h"

#include <utility>

namespace berth {
namespace {

constexpr double kFirst_s = 2, kPause_s = 5;

}  // namespace

TransferMeter::TransferMeter(const TellProgress& tell, TransferProgress about, Clock now)
    : tell_(tell), now_(std::move(now)), began_s_(now_()), progress_(std::move(about)) {}

void TransferMeter::add(uint64_t bytes) {
  if (!tell_) return;
  const double now_s = now_();
  const std::lock_guard lock(mutex_);
  progress_.bytes += bytes;
  if (progress_.finished) return;
  if (now_s >= (reported_s_ ? *reported_s_ + kPause_s : began_s_ + kFirst_s)) tell(now_s);
}

void TransferMeter::finish() {
  const std::lock_guard lock(mutex_);
  if (!reported_s_ || std::exchange(progress_.finished, true)) return;
  tell(now_());
}

void TransferMeter::tell(double now_s) {
  reported_s_ = now_s;
  progress_.seconds = now_s - began_s_;
  tell_(progress_);
}

}  // namespace berth
