#pragma once

#include <cstdint>

namespace berth {

// Linear warm-up from 0 to the peak rate, then linear decay to 0, as Hugging Face's
// get_linear_schedule_with_warmup.
class LinearSchedule {
 public:
  LinearSchedule(double peak_rate, int64_t warmup_steps, int64_t total_steps);

  // Rate of the update that follows `steps_done` others.
  double rate(int64_t steps_done) const;

 private:
  double peak_rate_;
  int64_t warmup_steps_, total_steps_;
};

// ceil(ratio x total), as the Hugging Face Trainer rounds.
int64_t warmup_steps(double warmup_ratio, int64_t total_steps);

}  // namespace berth
