#pragma once

#include <optional>

#include "trainer/loop/observer.h"

namespace berth {

// Watches a training, and warns at its end if it learnt nothing: the loss grew, or the accuracy is
// no better than always predicting the most frequent class.
class Verdict final : public Observer {
 public:
  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_finish() override;

 private:
  // The updates of this process are compared by their first and their last tenth.
  int64_t first_step_ = 0, part_ = 0, last_begins_ = 0;
  double first_loss_ = 0, last_loss_ = 0;  // sums over the two parts
  double peak_rate_ = 0;
  std::optional<EvaluationReport> evaluation_;
};

}  // namespace berth
