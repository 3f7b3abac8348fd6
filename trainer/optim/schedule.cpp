#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>

namespace berth {

LinearSchedule::LinearSchedule(double peak_rate, int64_t warmup_steps, int64_t total_steps)
    : peak_rate_(peak_rate), warmup_steps_(warmup_steps), total_steps_(total_steps) {}

double LinearSchedule::rate(int64_t steps_done) const {
  if (steps_done < warmup_steps_) {
    return peak_rate_ * static_cast<double>(steps_done) / static_cast<double>(warmup_steps_);
  }
  const int64_t decay_steps = std::max<int64_t>(1, total_steps_ - warmup_steps_);
  const int64_t left = std::max<int64_t>(0, total_steps_ - steps_done);
  return peak_rate_ * static_cast<double>(left) / static_cast<double>(decay_steps);
}

int64_t warmup_steps(double warmup_ratio, int64_t total_steps) {
  return static_cast<int64_t>(std::ceil(warmup_ratio * static_cast<double>(total_steps)));
}

}  // namespace berth
