#pragma once

#include "entrypoint/run.h"
#include "trainer/loop/observer.h"

namespace berth {

// Keeps a RunResult current, so that the final report of a failure says how far the job came.
// `reached` outlives it.
class Milestones final : public Observer {
 public:
  explicit Milestones(RunResult& reached) : reached_(reached) {}

  void on_start(const JobReport& report) override { reached_.step = report.first_step; }
  void on_step(const StepReport& report) override { reached_.step = report.step; }
  void on_checkpoint(const CheckpointReport& report) override {
    reached_.checkpoint = report.where;
  }

 private:
  RunResult& reached_;
};

}  // namespace berth
