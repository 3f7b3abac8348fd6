#pragma once

#include <cstdint>

namespace berth {

// How the learning rate goes, by the names of Hugging Face's --lr_scheduler_type.
enum class ScheduleType { kLinear, kCosine, kConstant, kConstantWithWarmup, kPolynomial };

struct ScheduleOptions {
  ScheduleType type = ScheduleType::kLinear;
  double peak_rate = 0;
  int64_t warmup_steps = 0, total_steps = 0;
  double power = 1;     // of kPolynomial
  double end_rate = 0;  // of those that go down; of kPolynomial at least 1e-7
};

// A linear warm-up from 0 to the peak (but for kConstant), then down to the end rate in a line or
// half a cosine, or as (1 - progress)^power, or level: as Hugging Face's get_scheduler.
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options) : options_(options) {}

  // Rate of the update that follows `steps_done` others.
  double rate(int64_t steps_done) const;

 private:
  ScheduleOptions options_;
};

// ceil(ratio x total), as the Hugging Face Trainer rounds.
int64_t warmup_steps(double warmup_ratio, int64_t total_steps);

}  // namespace berth
