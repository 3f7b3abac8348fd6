#include "entrypoint/report/watchdog.h"

#include <utility>

namespace berth {

Watchdog::Watchdog(Observer& inner, double timeout_s, std::function<void(double)> on_hang)
    : inner_(inner),
      timeout_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s))),
      on_hang_(std::move(on_hang)),
      thread_([this](const std::stop_token& ends) { watch(ends); }) {}

void Watchdog::on_start(const JobReport& report) {
  sign();
  inner_.on_start(report);
}

void Watchdog::on_step(const StepReport& report) {
  sign();
  inner_.on_step(report);
}

void Watchdog::on_evaluating(int64_t done, int64_t total) {
  sign();
  inner_.on_evaluating(done, total);
}

void Watchdog::on_evaluation(const EvaluationReport& report) {
  sign();
  inner_.on_evaluation(report);
}

void Watchdog::on_probing(const std::string& name) {
  sign(/*is_watched=*/false);
  inner_.on_probing(name);
}

void Watchdog::on_probes(const std::vector<ProbeReport>& reports) {
  sign();
  inner_.on_probes(reports);
}

void Watchdog::on_saving(int64_t step) {
  sign();
  inner_.on_saving(step);
}

void Watchdog::on_checkpoint(const CheckpointReport& report) {
  sign();
  inner_.on_checkpoint(report);
}

void Watchdog::on_finish() {
  sign();
  inner_.on_finish();
}

void Watchdog::sign(bool is_watched) {
  const std::lock_guard lock(mutex_);
  last_ = Clock::now();
  if (is_watched_ == is_watched) return;
  is_watched_ = is_watched;
  changed_.notify_all();
}

void Watchdog::watch(const std::stop_token& ends) {
  std::unique_lock lock(mutex_);
  while (!ends.stop_requested()) {
    if (!is_watched_) {
      changed_.wait(lock, ends, [this] { return is_watched_; });
      continue;
    }
    const Clock::time_point deadline = last_ + timeout_;
    changed_.wait_until(lock, ends, deadline, [this] { return !is_watched_; });
    if (ends.stop_requested() || !is_watched_ || Clock::now() < last_ + timeout_) continue;
    const double silent_s = std::chrono::duration<double>(Clock::now() - last_).count();
    lock.unlock();
    on_hang_(silent_s);
    return;
  }
}

}  // namespace berth
