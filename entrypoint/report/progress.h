#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/report/standard_streams.h"
#include "storage/base/clock.h"
#include "trainer/loop/observer.h"

namespace berth {

// One line of the table: an epoch that has ended, or an evaluation inside an epoch. An empty value
// is not known.
struct EpochRow {
  std::string epoch{};   // "1/3"
  std::string update{};  // "113/113" of the epoch, or the number of an update
  std::string time{};    // "1:05"
  std::string rate{};    // examples a second
  std::optional<double> loss{}, eval_loss{};
  std::map<std::string, double> metrics{};
};

// Epochs as a table for people, on a terminal. Not thread-safe.
class EpochTable {
 public:
  // The line of `row`, in at most `columns` columns, but at least 60. Metrics that do not fit are
  // left out. Before the first row, and where other columns begin, a line of headings comes first.
  std::vector<std::string> lines(const EpochRow& row, int columns);

 private:
  std::string heading_;
};

// Progress for people. On a terminal it redraws one line, at most ten times a second. It prints a
// line of a table for every epoch and evaluation, and a line for every probe. Elsewhere it prints a
// line for each logged step.
class Progress final : public Observer {
 public:
  // `line` outlives this. `columns` is called for each drawing, because windows are resized.
  Progress(TerminalLine& line, std::function<int()> columns, Clock steady_clock = steady_clock_s);

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluating(int64_t done, int64_t total) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_probing(const std::string& name) override;
  void on_probes(const std::vector<ProbeReport>& reports) override;
  void on_checkpoint(const CheckpointReport& report) override;
  void on_finish() override;

 private:
  // The position of a step in its epoch. Both are counted from 1.
  struct Position {
    int64_t epoch, epochs, step, steps;
  };
  Position position_of(const StepReport& report) const;

  bool time_to_draw();
  void print_finished_epoch();
  void print(const EpochRow& row);

  TerminalLine& line_;
  const std::function<int()> columns_;
  const Clock clock_;
  JobReport job_;
  double last_drawn_s_ = -1;
  double epoch_began_s_ = 0;
  double loss_sum_ = 0, loss_weight_ = 0;   // of the epoch
  std::string device_memory_;               // at the last logged step
  std::optional<EpochRow> finished_epoch_;  // an epoch that waits for its evaluation
  EpochTable table_;
};

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

// Progress for machines: one JSON object a line, {"time", "event", "severity", "message", ...}, at
// the start, at every logged step, evaluation, probe and checkpoint, and at the end. A number that
// is not finite becomes null.
class JsonLines final : public Observer {
 public:
  explicit JsonLines(Write write = write_standard_error, Clock wall_clock = wall_clock_s);

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_probes(const std::vector<ProbeReport>& reports) override;
  void on_checkpoint(const CheckpointReport& report) override;
  void on_finish() override;

 private:
  const Write write_;
  const Clock wall_clock_;
};

}  // namespace berth
