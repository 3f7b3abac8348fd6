#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/profiler.h"
#include "trainer/data/dataset.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/device.h"
#include "trainer/engine/engine.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/evaluate_retrieval.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/plan.h"
#include "trainer/loop/probes.h"
#include "trainer/model/training_flops.h"

namespace berth {

// Which updates of a training are recorded.
struct ProfileWindow {
  Profiler& profiler;
  int64_t first = 0, updates = 0;  // counted from the first update of this process
  // Called by the training thread when all of them are recorded.
  std::function<void()> when_recorded{};

  int64_t end() const { return first + updates; }
};

// Everything that the loop works with. The loop borrows it.
struct TrainingParts {
  const TrainingOptions& options;
  Engine& engine;
  Dataset& train_data;
  Dataset* eval_data;  // null: there are no labelled rows to evaluate on
  const ReadingOptions& reading;
  std::vector<std::string> metrics;  // the metrics of evaluations: metric_names() of the task
  std::string eval_split;            // "validation" or "eval"
  CheckpointStore& checkpoints;
  Observer& observer;
  const std::atomic<bool>& stop;
  std::function<double()> since_stop{};  // the seconds since `stop` was set; null: none
  // Writes the values that the parameters have before the first update.
  std::function<void(ParameterTensors& values)> fill_parameters;
  TrainingFlops flops{};     // of the model; zeros: reports have none
  Device* device = nullptr;  // whose memory and peak rate are reported; null: none is
  const RetrievalEvaluation* retrieval = nullptr;  // null: there is no retrieval set
  Probes* probes = nullptr;                        // null: nothing is probed
  const ProfileWindow* profile = nullptr;          // null: nothing is recorded
  ProbeOptions probe_options{};
  Clock steady_clock = steady_clock_s;  // by which saves become due
  // The ranks that train together; null: this process trains alone. All call train() with the same
  // plan and options, but only rank 0 keeps weights and probes.
  Communicator* ranks = nullptr;
};

struct TrainResult {
  TrainingState state;
  std::optional<EvaluationResult> evaluation;  // of the final parameters
  int64_t model_step = 0;                      // of the final parameters
  // The step of the best parameters, where they are not the final ones because their checkpoint is
  // damaged.
  std::optional<int64_t> lost_best_step{};
  // The training steps of this process only.
  int64_t examples = 0, tokens = 0;
  double flops = 0;            // floating-point operations, as TrainingFlops counts them
  double seconds = 0;          // without the time of compiling
  double compile_seconds = 0;  // of the engine; 0 where it compiles nothing
  double probe_seconds = 0;    // in which the loop waited for probes
  double loop_seconds = 0;     // from the beginning of the loop to its end, with everything
  double epochs = 0;           // passes over the data, by all processes
};

// Trains from `state` to the end of the plan, or until BestRule gives up. Probes, evaluates and
// saves when that is due, in this order, so that a restored state shows which of them its step has
// done. The last update is always saved, evaluated if there are evaluation data, and probed if
// there are probes. If the options say so, loads the parameters of the best checkpoint at the end
// (CheckpointStore::restore_best).
//
// If `stop` is set, saves and throws kStopped. It does not save if this would take longer than the
// rest of TrainingOptions::grace_s. It estimates the time from the earlier saves of this process.
// If the loss or the gradient of an update is not finite, goes back to the newest checkpoint or to
// the start. It then continues without the data of that update, like a process that resumes. The
// third such update throws kDiverged. A failed save during training is only a warning. A failure of
// the last save, or of the save after `stop` was set, is thrown. Errors of the parts pass through.
// No save is running after the function has ended, even if it throws.
TrainResult train(const TrainingParts& parts, const Plan& plan, TrainingState state);

}  // namespace berth
