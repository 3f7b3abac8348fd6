#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/evaluate.h"
#include "trainer/loop/options.h"
#include "trainer/loop/training_state.h"

namespace berth {

// Which evaluation of a run is the best one, and when to wait for a better one no longer.
class BestRule {
 public:
  // `metrics` are those that the task has, its main one first. Throws kUsage where the options' is
  // none of them.
  BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics);

  // The evaluation at `step` if it is better than `before`, else nullopt. Of equals the first;
  // what is no number is none.
  std::optional<Best> better(const EvaluationResult& evaluation, int64_t step,
                             const std::optional<Best>& before) const;

  // Whether the options have no more patience after so many evaluations since the best one.
  bool gives_up(int64_t evaluations) const;

 private:
  std::string metric_;  // "loss", "mse": the lower the better
  int64_t patience_;    // evaluations; 0: no end of it
};

}  // namespace berth
