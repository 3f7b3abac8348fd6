#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/data/dataset.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/options.h"
#include "trainer/loop/plan.h"

namespace berth {

// All that the loop works on; borrowed.
struct TrainingParts {
  const TrainingOptions& options;
  Kernels& kernels;
  Parameters& parameters;
  Model& model;
  Optimizer& optimizer;
  Dataset& train_data;
  Dataset* eval_data;  // null: no evaluation
  const ReadingOptions& reading;
  std::vector<std::string> metrics;  // what evaluations say: metric_names()
  std::string eval_split;            // "validation" or "eval"
  CheckpointStore& checkpoints;
  Observer& observer;
  const std::atomic<bool>& stop;
  std::function<void()> fill_parameters;  // as they were before the first update
};

struct TrainResult {
  TrainingState state;
  std::optional<EvaluationResult> evaluation;  // of the parameters as they are left
  // Training steps of this process alone.
  int64_t examples = 0, tokens = 0;
  double seconds = 0;
  double epochs = 0;  // passes over the data, by all processes
};

// Trains from `state` to the plan's end, or until patience ends (BestRule): update, evaluate, save,
// each when it is due. The last update is always evaluated (with eval data) and saved; then the
// parameters become the best checkpoint's, where the options say so. A save in between that fails
// is a warning; of the last one, and of the one when `stop` is set, the failure is thrown. When
// `stop` is set, saves and throws kStopped. When an update's loss or gradient is no number, goes
// back to the newest checkpoint, or to the start, and on from there without that update's data, as
// a process that resumes would; the third time throws kDiverged. Errors of the parts pass through.
// However it ends, no save is under way any more.
TrainResult train(const TrainingParts& parts, const Plan& plan, TrainingState state);

}  // namespace berth
