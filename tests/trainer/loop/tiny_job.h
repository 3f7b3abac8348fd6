#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/local_storage.h"
#include "tests/support/letter_data.h"
#include "tests/support/scratch_directory.h"
#include "tests/trainer/loop/tiny_model.h"
#include "trainer/loop/train.h"

namespace berth {

// Records what the loop reports. A test may set functions to be called on a report.
class RecordingObserver final : public Observer {
 public:
  void on_step(const StepReport& report) override {
    steps.push_back(report);
    if (when_step) when_step(report.step);
  }
  void on_evaluating(int64_t done, int64_t) override {
    if (when_evaluating) when_evaluating(done);
  }
  void on_evaluation(const EvaluationReport& report) override { evaluations.push_back(report); }
  void on_probes(const std::vector<ProbeReport>& reports) override {
    for (const ProbeReport& report : reports) probed.push_back(report.step);
  }
  void on_checkpoint(const CheckpointReport& report) override {
    checkpoints.push_back(report.step);
    if (when_checkpoint) when_checkpoint(report.step);
  }

  std::vector<int64_t> evaluated_steps() const {
    std::vector<int64_t> result;
    for (const EvaluationReport& report : evaluations) result.push_back(report.step);
    return result;
  }

  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<int64_t> checkpoints, probed;
  std::function<void(int64_t)> when_step, when_evaluating, when_checkpoint;
};

// A probe whose score is the number of the step. A test may set a function that is called first.
class FakeProbes final : public Probes {
 public:
  std::optional<std::vector<ProbeReport>> run(const Engine&, int64_t step) override {
    if (when_probing && !when_probing(step)) return std::nullopt;
    return std::vector{ProbeReport{.step = step,
                                   .name = "topics",
                                   .metric = "accuracy",
                                   .metrics = {{"accuracy", static_cast<double>(step)}}}};
  }

  std::function<bool(int64_t)> when_probing;  // false: a stop was asked for
};

// 22 texts in updates of 4 and micro-batches of 2, with dropout. An epoch has 6 updates, the last
// of 2 texts.
inline TrainingOptions tiny_options() {
  TrainingOptions options;
  options.epochs = 2;
  options.batch_size = 4;
  options.gradient_accumulation_steps = 2;
  options.save_steps = 0;
  options.save_total_limit = 0;
  options.optimization.learning_rate = 1e-2;
  return options;
}

// One process of a tiny job. It restores the newest checkpoint of the directory and trains.
class TinyJob {
 public:
  TinyJob(const TrainingOptions& options, const std::string& directory, Storage& storage,
          bool evaluates = true, Saving saving = Saving::kBesideTraining,
          Communicator* ranks = nullptr)
      : tiny(/*seed=*/1, tiny_config(), /*threads=*/1, options.optimization.lora, ranks, options),
        options_(options),
        checkpoints_(storage, Uri::parse(directory), options.save_total_limit, saving, UINT64_MAX,
                     ranks),
        evaluates_(evaluates),
        ranks_(ranks) {}

  TrainResult run() {
    TrainingState state = checkpoints_.restore(*tiny.engine).value_or(begin);
    first_step = state.step;
    return train({.options = options_,
                  .engine = *tiny.engine,
                  .train_data = train_data != nullptr ? *train_data : *train_data_.dataset,
                  .eval_data = evaluates_ ? eval_data_.dataset.get() : nullptr,
                  .reading = reading_,
                  .metrics = {"accuracy", "f1", "precision", "recall"},
                  .eval_split = "validation",
                  .checkpoints = checkpoints_,
                  .observer = observer,
                  .stop = stop,
                  .since_stop = since_stop,
                  .fill_parameters =
                      [](ParameterTensors& values) {
                        initialize(values, tiny_config().initializer_range, /*seed=*/1,
                                   /*threads=*/1);
                      },
                  .probes = probes,
                  .probe_options = probe_options,
                  .steady_clock = clock,
                  .ranks = ranks_},
                 make_plan(options_, *train_data_.dataset), std::move(state));
  }

  TinyModel tiny;
  RecordingObserver observer;
  std::atomic<bool> stop = false;
  std::function<double()> since_stop{};
  int64_t first_step = 0;         // of the last run
  TrainingState begin{};          // used if there is no checkpoint
  Dataset* train_data = nullptr;  // replaces the letters; has as many rows
  Probes* probes = nullptr;
  ProbeOptions probe_options{};
  Clock clock = steady_clock_s;

 private:
  TrainingOptions options_;
  const ReadingOptions reading_{.labels = {"first half", "second half"}};
  LetterData train_data_{22}, eval_data_{9};
  CheckpointStore checkpoints_;
  bool evaluates_;
  Communicator* ranks_;
};

}  // namespace berth
