#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/options.h"
#include "trainer/loop/plan.h"

namespace berth {

// All that the loop works on. The loop borrows it.
struct TrainingParts {
  const TrainingOptions& options;
  Engine& engine;
  Dataset& train_data;
  Dataset* eval_data;  // Null: there is no evaluation.
  const ReadingOptions& reading;
  std::vector<std::string> metrics;  // What evaluations tell: metric_names() of the task.
  std::string eval_split;            // "validation" or "eval"
  CheckpointStore& checkpoints;
  Observer& observer;
  const std::atomic<bool>& stop;
  // Writes the values that the parameters have before the first update.
  std::function<void(ParameterTensors& values)> fill_parameters;
};

struct TrainResult {
  TrainingState state;
  std::optional<EvaluationResult> evaluation;  // Of the parameters as training leaves them.
  // Training steps of this process alone.
  int64_t examples = 0, tokens = 0;
  double seconds = 0;
  double epochs = 0;  // Passes over the data, by all processes.
};

// Trains from `state` to the plan's end, or until patience ends (BestRule): it updates, evaluates
// and saves, each when it is due. The last update is always evaluated (where there is eval data)
// and saved. Then the parameters become the best checkpoint's, where the options say so.
//
// A save that fails on the way is a warning; the failure of the last save, and of the save after
// `stop` was set, is thrown. When `stop` is set, saves and throws kStopped. When an update's loss
// or gradient is not finite, goes back to the newest checkpoint, or to the start, and continues
// without that update's data, as a process that resumes would; the third such update throws
// kDiverged. Errors of the parts pass through. However training ends, no save is under way
// afterwards.
TrainResult train(const TrainingParts& parts, const Plan& plan, TrainingState state);

}  // namespace berth
