#pragma once

#include <cstdint>

namespace berth {

// The shapes of the learning rate, with the names of Hugging Face's --lr_scheduler_type.
enum class ScheduleType { kLinear, kCosine, kConstant, kConstantWithWarmup, kPolynomial };

struct ScheduleOptions {
  ScheduleType type = ScheduleType::kLinear;
  double peak_rate = 0;
  int64_t warmup_steps = 0, total_steps = 0;
  double power = 1;     // for kPolynomial
  double end_rate = 0;  // for schedules that decrease; at least 1e-7 for kPolynomial
};

// The learning rate of each update, as in Hugging Face's get_scheduler. Except with kConstant, the
// rate first rises linearly from 0 to the peak. Then it stays there, or decreases to the end rate:
// linearly, as half a cosine, or as (1 - progress)^power.
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options) : options_(options) {}

  // The rate of the update that follows `steps_done` updates.
  double rate(int64_t steps_done) const;

 private:
  ScheduleOptions options_;
};

// The peak rate of fine-tuning where none is given, also of pre-training that goes on with a model.
// For widths from BERT-base's 768 on, it is the default of Hugging Face's Trainer. A narrower
// encoder needs larger steps: kBertLearningRate (768 / hidden_size)^1.5, and 1e-3 at most.
// bench/README.md has measurements. Rounded to two digits, because people read it.
inline constexpr double kBertLearningRate = 5e-5;
double default_learning_rate(int64_t hidden_size);
// The peak rate of pre-training from random parameters where none is given, by AdamW in updates of
// some hundred sequences. The power of the width that goes through ELECTRA's 2e-4 at 768 and 5e-4
// at 256 (Clark et al. 2020, table 6), 2e-4 (768 / hidden_size)^0.834, and 1e-3 at most.
double default_pretraining_rate(int64_t hidden_size);

// ceil(ratio x total), as the Hugging Face Trainer rounds.
int64_t warmup_steps(double warmup_ratio, int64_t total_steps);

}  // namespace berth
