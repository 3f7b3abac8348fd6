#pragma once

#include <functional>
#include <optional>
#include <string>

#include "entrypoint/report/epoch_table.h"
#include "entrypoint/report/terminal_line.h"
#include "storage/base/clock.h"
#include "trainer/loop/observer.h"

namespace berth {

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

}  // namespace berth
