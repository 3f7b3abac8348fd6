#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/evaluate.h"
#include "trainer/loop/options.h"
#include "trainer/loop/training_state.h"

namespace berth {

// Decides which evaluation of a run is the best, and when to stop waiting for a better one.
class BestRule {
 public:
  // `metrics` are the task's metrics, the main metric first. Throws kUsage if the options name
  // another one.
  BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics);

  // Returns the evaluation at `step` if it is better than `before`, and nullopt otherwise. If
  // values are equal, the first is the best. A value that is not finite is never the best.
  std::optional<Best> better(const EvaluationResult& evaluation, int64_t step,
                             const std::optional<Best>& before) const;

  // Whether the options demand a stop after `evaluations` evaluations without a better one.
  bool gives_up(int64_t evaluations) const;

 private:
  std::string metric_;  // of "loss" and "mse", lower values are better
  int64_t patience_;    // in evaluations; 0 means without end
};

}  // namespace berth
