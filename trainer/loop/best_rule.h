#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/checkpoint_files.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/options.h"

namespace berth {

// Which evaluation of a run is the best one, and when to wait for a better one no longer.
class BestRule {
 public:
  // `steps_between` evaluations; `metrics` are those that the task has, its main one first. Throws
  // kUsage where the options' is none of them.
  BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics,
           int64_t steps_between);

  // The evaluation at `step` if it is better than `before`, else nullopt. Of equals the first.
  std::optional<Best> better(const EvaluationResult& evaluation, int64_t step,
                             const std::optional<Best>& before) const;

  // Whether the evaluation at `step` was the last one of as many in a row as the options have
  // patience for, none better than `best`.
  bool gives_up(int64_t step, const std::optional<Best>& best) const;

 private:
  std::string metric_;      // "loss", "mse": the lower the better
  int64_t patience_steps_;  // 0: no end of it
};

}  // namespace berth
