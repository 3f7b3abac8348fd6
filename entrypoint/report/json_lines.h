#pragma once

#include "entrypoint/report/standard_error.h"
#include "storage/base/clock.h"
#include "trainer/loop/observer.h"

namespace berth {

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
