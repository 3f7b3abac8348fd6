#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "trainer/loop/observer.h"

namespace berth {

// Checks that a training goes on, as long as this object lives. Each report of the loop is a sign
// of life: an update, a part of an evaluation, a checkpoint. Where none comes for longer than the
// timeout, `on_hang` is called once, on a thread of this object. A probe is a process of its own
// that gives no sign, so its time does not count. Passes all reports on to `inner`.
class Watchdog final : public Observer {
 public:
  // `on_hang` takes the seconds without a sign of life. It usually ends the process. Borrows
  // `inner`.
  Watchdog(Observer& inner, double timeout_s, std::function<void(double silent_s)> on_hang);

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluating(int64_t done, int64_t total) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_probing(const std::string& name) override;
  void on_probes(const std::vector<ProbeReport>& reports) override;
  void on_saving(int64_t step) override;
  void on_checkpoint(const CheckpointReport& report) override;
  void on_finish() override;

 private:
  using Clock = std::chrono::steady_clock;

  void sign(bool is_watched = true);
  void watch(const std::stop_token& ends);

  Observer& inner_;
  const Clock::duration timeout_;
  const std::function<void(double)> on_hang_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_watched_ = true;
  Clock::time_point last_ = Clock::now();
  std::jthread thread_;  // the last member, so that it ends before the others
};

}  // namespace berth
