#include "entrypoint/report/heartbeat.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr double kLocalInterval_s = 10, kRemoteInterval_s = 30;
constexpr double kRemotePause_s = 1;  // Cloud Storage takes one write a second to an object

// `value` with four digits; null if it is not finite.
OrderedJson short_value(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(formatted("%.4g", value).c_str(), nullptr);
}

void add_flops(const StepReport& report, OrderedJson& file) {
  if (report.flops_per_second <= 0) return;
  file["flops_per_second"] = short_value(report.flops_per_second);
  if (report.peak_flops_per_second <= 0) return;
  file["flops_utilization"] = short_value(report.flops_per_second / report.peak_flops_per_second);
}

void add_usage(const UsageMeter::Reading& reading, OrderedJson& file) {
  if (reading.cpu_share) file["cpu_percent"] = short_value(100 * *reading.cpu_share);
  if (reading.throttled_s) file["throttled_seconds"] = short_value(*reading.throttled_s);
  if (reading.resident_bytes > 0) file["memory_bytes"] = reading.resident_bytes;
  if (reading.memory_share) file["memory_percent"] = short_value(100 * *reading.memory_share);
}

}  // namespace

std::string_view phase_name(JobPhase phase) {
  switch (phase) {
    case JobPhase::kBuilding:
      return "building";
    case JobPhase::kTeaching:
      return "teaching";
    case JobPhase::kTraining:
      return "training";
    case JobPhase::kEvaluating:
      return "evaluating";
    case JobPhase::kProbing:
      return "probing";
    case JobPhase::kSaving:
      return "saving";
    case JobPhase::kExporting:
      return "exporting";
    case JobPhase::kFinished:
      return "finished";
    case JobPhase::kEnded:
      break;
  }
  return "ended";
}

Heartbeat::Heartbeat(Observer& inner, Storage& storage, HeartbeatOptions options)
    : inner_(inner),
      storage_(storage),
      options_(std::move(options)),
      usage_(options_.usage, options_.steady_clock) {
  submit();
}

Heartbeat::~Heartbeat() {
  // Where the storage cannot be reached, the end of the job does not wait for it once more.
  if (state_.phase != JobPhase::kFinished && !fails_) enter(JobPhase::kEnded);
}

void Heartbeat::set_checkpoint(int64_t step, const std::string& where) {
  const std::lock_guard lock(mutex_);
  state_.step = state_.checkpoint_step = step;
  state_.checkpoint = where;
}

void Heartbeat::enter(JobPhase phase) {
  {
    const std::lock_guard lock(mutex_);
    state_.phase = phase;
  }
  submit();
}

void Heartbeat::sign(JobPhase phase) {
  const double interval_s = options_.file.is_local() ? kLocalInterval_s : kRemoteInterval_s;
  bool is_due = options_.steady_clock() - submitted_s_ >= interval_s;
  {
    const std::lock_guard lock(mutex_);
    is_due = is_due || state_.phase != phase;
    state_.phase = phase;
  }
  if (is_due) submit();
}

void Heartbeat::submit() {
  submitted_s_ = options_.steady_clock();
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_queued_, true)) return;
  }
  background_.submit([this] { write(); });
}

void Heartbeat::write() noexcept {
  try {
    if (!std::exchange(looked_, true)) attempt_ = next_attempt();
    if (written_s_ && !options_.file.is_local()) {
      const double left_s = *written_s_ + kRemotePause_s - options_.steady_clock();
      if (left_s > 0) options_.sleep(left_s);
    }
    State state;
    {
      const std::lock_guard lock(mutex_);
      is_queued_ = false;
      state = state_;
    }
    write_text(storage_, options_.file, text(state));
    fails_ = false;
    written_s_ = options_.steady_clock();
  } catch (const std::exception& error) {
    fails_ = true;
    if (std::exchange(warned_, true)) return;
    log_warning(cat(options_.file.to_string(), " could not be written: ", error.what(),
                    "; training goes on, and later writes are tried without another warning"));
  }
}

int64_t attempt_after(std::string_view heartbeat) {
  constexpr uint64_t kMostAttempts = 1'000'000'000;
  const Json earlier = parse_json(heartbeat);
  if (!earlier.is_object() || !earlier.contains("attempt")) return 1;
  const Json& count = earlier["attempt"];
  const bool is_count = count.is_number_unsigned() && count.get<uint64_t>() < kMostAttempts;
  return is_count ? count.get<int64_t>() + 1 : 1;
}

std::optional<int64_t> Heartbeat::next_attempt() {
  try {
    const std::optional<std::string> before = read_text(storage_, options_.file);
    return before ? attempt_after(*before) : 1;
  } catch (const Error& error) {
    log_debug(cat("the attempts before this one are not known: ", error.what()));
    return std::nullopt;
  }
}

std::string Heartbeat::text(const State& state) {
  OrderedJson file = {
      {"time", iso_time(options_.wall_clock())}, {"host", options_.host}, {"pid", options_.pid}};
  if (!options_.process.empty()) file["process"] = options_.process;
  if (attempt_) file["attempt"] = *attempt_;
  file["phase"] = phase_name(state.phase);
  file["step"] = state.step;
  if (state.max_steps > 0) file["max_steps"] = state.max_steps;
  if (state.last) {
    file["epoch"] = short_value(state.last->epoch);
    file["loss"] = short_value(state.last->interval_loss);
    file["examples_per_second"] = short_value(state.last->examples_per_second);
    file["tokens_per_second"] = short_value(state.last->tokens_per_second);
    add_flops(*state.last, file);
  }
  if (state.eta_s) file["eta_seconds"] = std::llround(*state.eta_s);
  if (const auto reading = usage_.read()) add_usage(*reading, file);
  if (!state.checkpoint.empty()) {
    file["checkpoint"] = without_known_secrets(state.checkpoint);
    file["checkpoint_step"] = state.checkpoint_step;
  }
  return to_text(file) + "\n";
}

void Heartbeat::on(const JobEvent& event) {
  Observer::on(event);
  inner_.on(event);
}

void Heartbeat::on_start(const JobReport& report) {
  began_s_ = options_.steady_clock();
  first_step_ = report.first_step;
  {
    const std::lock_guard lock(mutex_);
    state_.step = report.first_step;
    state_.max_steps = report.total_steps;
  }
  sign(JobPhase::kTraining);
}

void Heartbeat::on_step(const StepReport& report) {
  // After it went back to a checkpoint, a job may have done fewer updates than it began with.
  const auto done = static_cast<double>(report.step - first_step_);
  const auto left = static_cast<double>(report.total_steps - report.step);
  const double eta_s = (options_.steady_clock() - began_s_) / done * left;
  {
    const std::lock_guard lock(mutex_);
    state_.step = report.step;
    state_.last = report;
    state_.eta_s.reset();
    if (done > 0 && std::isfinite(eta_s) && eta_s < 1e15) state_.eta_s = eta_s;
  }
  sign(JobPhase::kTraining);
}

void Heartbeat::on_checkpoint(const CheckpointReport& report) {
  JobPhase phase;
  {
    const std::lock_guard lock(mutex_);
    state_.checkpoint = report.where;
    state_.checkpoint_step = report.step;
    phase = state_.phase;
  }
  // Training goes on where it waited for this checkpoint.
  sign(phase == JobPhase::kSaving ? JobPhase::kTraining : phase);
}

Watchdog::Watchdog(Observer& inner, double timeout_s, std::function<void(double)> on_hang)
    : inner_(inner),
      timeout_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s))),
      on_hang_(std::move(on_hang)),
      thread_([this](const std::stop_token& ends) { watch(ends); }) {}

void Watchdog::on(const JobEvent& event) {
  sign(/*is_watched=*/!std::holds_alternative<ProbeBegins>(event));
  inner_.on(event);
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
