#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trainer/engine/device.h"
#include "trainer/loop/training_state.h"
#include "trainer/tasks/evaluator.h"

namespace berth {

// What a probe will do.
struct ProbeFacts {
  std::string name{}, task{};
  int64_t train_examples = 0, scored_examples = 0;  // the second one is approximate
  int64_t updates = 0;
};

// A row of the training data as the model takes it. Texts may hold anything: they are escaped where
// they are shown.
struct ShownRow {
  uint64_t row = 0;                  // its number in the source, from 0
  std::vector<std::string> texts{};  // as they were read, up to a length; none: rows hold tokens
  std::string tokens{};              // of all texts, or of the first sequence: "[CLS] a ##b [SEP]"
  int64_t token_count = 0;
  std::string label{};  // with its name and its number
  std::string cut{};    // what the model does not see, or sees in parts; empty: it sees all
};

// Facts about the job, known after the data were read and the model was built.
struct JobReport {
  int64_t train_examples = 0, eval_examples = 0;
  int64_t parameters = 0;
  int64_t first_step = 0;  // updates already done by an earlier process
  int64_t total_steps = 0;
  int64_t batch_size = 0;     // the most examples of an update
  int64_t token_budget = 0;   // the most tokens of an update; 0 means no limit
  bool sizes_differ = false;  // whether updates within an epoch may have fewer examples
  int64_t num_labels = 0;
  double epochs = 0;
  double peak_learning_rate = 0;
  std::string learning_rate_is_for{};  // what the program chose it for; empty: nothing special
  std::string kernels{};
  std::string cut_texts{};  // a sentence about texts that are cut; empty: at most 5 % are
  std::vector<ProbeFacts> probes{};
  int64_t probed_steps = 0;      // by an uninterrupted job
  std::vector<ShownRow> rows{};  // the first of the training data; none: they are not to be shown
};

// One update. Rates cover the training steps of this process so far, without the time in which an
// engine compiled its programs.
struct StepReport {
  int64_t step = 0;  // updates done, this one included
  int64_t total_steps = 0;
  double epoch = 0;          // fractional
  double loss = 0;           // mean over the examples of this update
  double loss_weight = 1;    // of this loss in a mean over updates: the sum of its labels' weights
  double interval_loss = 0;  // mean over the examples since the last report with `log` set
  double learning_rate = 0, grad_norm = 0;
  double examples_per_second = 0, tokens_per_second = 0;
  // Of this update only.
  int64_t examples = 0, tokens = 0;
  double seconds = 0;
  double flops_per_second = 0;       // achieved, as TrainingFlops counts; 0: not counted
  double peak_flops_per_second = 0;  // of the devices; 0: not known
  // At logged steps, if the device reports it.
  std::optional<DeviceMemory> device_memory{};
  bool log = false;  // this step is one of --logging-steps, the first or the last
};

struct EvaluationReport {
  int64_t step = 0;
  double epoch = 0;
  int64_t examples = 0;
  double loss = 0, seconds = 0;
  std::map<std::string, double> metrics{};  // "accuracy", ...; names as in metrics.json
  // The accuracy of always predicting the most frequent class. Only for one class for each text.
  std::optional<double> majority_rate{};
  std::string split{};                 // "validation" (held out of the training file) or "eval"
  const TaskScores* scores = nullptr;  // all scores, valid during the call; null: not reported
  bool has_loss = true;                // as in EvaluationResult
};

struct CheckpointReport {
  int64_t step = 0;
  std::string where{};
  uint64_t size_bytes = 0;
  double seconds = 0;
};

// An evaluation has done `done` of `total` examples.
struct Evaluating {
  int64_t done = 0, total = 0;
};
// The finished model was evaluated on MNLI's second set.
struct SecondEvaluation {
  EvaluationReport report{};
};
struct ProbeBegins {
  std::string name{};
};
// All probes of a step are done. `reports` holds the results of the probes that succeeded, and may
// be empty.
struct ProbesDone {
  std::vector<ProbeReport> reports{};
};
// Training waits until the checkpoint of this step is written.
struct WaitsForSave {
  int64_t step = 0;
};
struct JobFinished {};

// What can happen in a job.
using JobEvent = std::variant<JobReport, StepReport, Evaluating, EvaluationReport, SecondEvaluation,
                              ProbeBegins, ProbesDone, WaitsForSave, CheckpointReport, JobFinished>;

// Receives the events of a job: for progress, event files and the like. The training thread calls
// it between updates, so a call should take only microseconds. An observer that throws ends the
// job.
class Observer {
 public:
  virtual ~Observer() = default;
  // Calls the function below for the event. An observer that passes all events on overrides this
  // function; others override the functions of the events that they need.
  virtual void on(const JobEvent& event) { std::visit(Call{*this}, event); }

 protected:
  virtual void on_start(const JobReport&) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_evaluating(int64_t /*done*/, int64_t /*total*/) {}
  virtual void on_evaluation(const EvaluationReport&) {}
  virtual void on_second_evaluation(const EvaluationReport&) {}
  virtual void on_probing(const std::string& /*name*/) {}
  virtual void on_probes(const std::vector<ProbeReport>&) {}
  virtual void on_waiting_for_save(int64_t /*step*/) {}
  virtual void on_checkpoint(const CheckpointReport&) {}
  virtual void on_finish() {}

 private:
  struct Call {
    void operator()(const JobReport& event) const { to.on_start(event); }
    void operator()(const StepReport& event) const { to.on_step(event); }
    void operator()(const Evaluating& event) const { to.on_evaluating(event.done, event.total); }
    void operator()(const EvaluationReport& event) const { to.on_evaluation(event); }
    void operator()(const SecondEvaluation& event) const { to.on_second_evaluation(event.report); }
    void operator()(const ProbeBegins& event) const { to.on_probing(event.name); }
    void operator()(const ProbesDone& event) const { to.on_probes(event.reports); }
    void operator()(const WaitsForSave& event) const { to.on_waiting_for_save(event.step); }
    void operator()(const CheckpointReport& event) const { to.on_checkpoint(event); }
    void operator()(const JobFinished&) const { to.on_finish(); }
    Observer& to;
  };
};

}  // namespace berth
