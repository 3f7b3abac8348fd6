#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "entrypoint/report/machine_row.h"
#include "storage/base/clock.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/loop/observer.h"

namespace berth {

// What a training job is doing. kFinished: all results are written. kEnded: the process has ended
// before that, because of a signal or a failure.
enum class JobPhase {
  kBuilding,    // makes the engine and fills it from a checkpoint or the model
  kTeaching,    // asks the teacher about all rows
  kTraining,    // makes updates
  kEvaluating,  // evaluates between two updates
  kProbing,     // waits for a probe's process
  kSaving,      // waits until a checkpoint is written
  kExporting,   // writes the finished model
  kFinished,
  kEnded
};

// The phase's name in the file: "training".
std::string_view phase_name(JobPhase phase);

// The number of the process that follows the one which left this heartbeat.json. The file is only
// for information, so one that says nothing useful begins a new count.
int64_t attempt_after(std::string_view heartbeat);

struct HeartbeatOptions {
  Uri file;               // JOB_DIR/heartbeat.json
  std::string host{};     // host_name()
  int64_t pid = 0;        // of this process
  std::string process{};  // process_identity()
  UsageSource usage{};    // an unknown value is not in the file
  Clock wall_clock = wall_clock_s, steady_clock = steady_clock_s;
  Sleep sleep = sleep_s;
};

// Keeps a file current that says what a training job is doing, for probes and for people:
//
//   {"time": "2026-01-31T23:59:59.125Z", "host": "berth-x7k2p", "pid": 1, "process": "...",
//    "attempt": 2, "phase": "training", "step": 120, "max_steps": 500, "epoch": 0.24, "loss": 0.5,
//    "examples_per_second": 5.4, "tokens_per_second": 254, "flops_per_second": 1.52e11,
//    "flops_utilization": 0.84, "eta_seconds": 2253, "cpu_percent": 99.1,
//    "throttled_seconds": 0, "memory_bytes": 1930000000, "memory_percent": 22.5,
//    "checkpoint": "gs://bucket/job/checkpoints/step-00000100", "checkpoint_step": 100}
//
// A value that is not known yet is absent. `process` identifies this process (process_identity()),
// and `attempt` counts the processes that have trained here. The rates come from StepReport;
// padding does not exist, so all tokens are real ones. `eta_seconds` is the time until the last
// update, at the pace of this process so far, with its evaluations and saves. `flops_utilization`
// is the share of the devices' peak rate. `cpu_percent` is the processor time since the write
// before, as a share of the time of all CPUs that the process may use. `throttled_seconds` is the
// time for which the container's limit has held threads back since the process began.
// `memory_percent` is the resident share of the memory that the process may use.
//
// The file is replaced as a whole when the phase changes and, in a phase that lasts, where the loop
// gives a sign of life: at most every 10 s locally and every 30 s in remote storage. So its age
// grows when the training hangs. A thread of its own writes it. While that is busy, changes are
// collected, and in remote storage a second passes between two writes, because one object takes no
// more. A failure is one warning, and later writes try again.
//
// Passes all reports on to `inner`. One thread calls it.
class Heartbeat final : public Observer {
 public:
  // The phase is kBuilding. Borrows `inner` and `storage`.
  Heartbeat(Observer& inner, Storage& storage, HeartbeatOptions options);
  // Writes kEnded unless the phase is kFinished, and waits until everything is written.
  ~Heartbeat() override;

  void enter(JobPhase phase);
  // The job goes on from this checkpoint of an earlier process.
  void set_checkpoint(int64_t step, const std::string& where);

  void on(const JobEvent& event) override;

  // Waits until nothing is left to write.
  void wait() { background_.wait(); }

 private:
  // What the file says, besides the process.
  struct State {
    JobPhase phase = JobPhase::kBuilding;
    int64_t step = 0, max_steps = 0;   // 0: not known
    std::optional<StepReport> last{};  // of this process
    std::optional<double> eta_s{};     // where `last` is there
    std::string checkpoint{};          // empty: there is none
    int64_t checkpoint_step = 0;
  };

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluating(int64_t, int64_t) override { sign(JobPhase::kEvaluating); }
  void on_evaluation(const EvaluationReport&) override { sign(JobPhase::kTraining); }
  void on_probing(const std::string&) override { sign(JobPhase::kProbing); }
  void on_probes(const std::vector<ProbeReport>&) override { sign(JobPhase::kTraining); }
  void on_waiting_for_save(int64_t) override { sign(JobPhase::kSaving); }
  void on_checkpoint(const CheckpointReport& report) override;

  void sign(JobPhase phase);  // a sign of life in this phase
  void submit();
  // These run on the thread of their own.
  void write() noexcept;
  std::optional<int64_t> next_attempt();
  std::string text(const State& state);

  Observer& inner_;
  Storage& storage_;
  const HeartbeatOptions options_;
  double submitted_s_ = 0;
  double began_s_ = 0;      // when the loop began
  int64_t first_step_ = 0;  // the updates before that
  std::optional<double> written_s_;
  std::optional<int64_t> attempt_;
  UsageMeter usage_;                 // read by the thread that writes
  bool looked_ = false;              // whether the attempts before were looked for
  std::atomic<bool> fails_ = false;  // the last write failed
  bool warned_ = false;
  std::mutex mutex_;  // guards what follows
  State state_;
  bool is_queued_ = false;  // a write is queued that has not read the state yet
  Background background_;   // the last member, because it must end before the members that it uses
};

// Checks that a training goes on, as long as this object lives. Each report of the loop is a sign
// of life: an update, a part of an evaluation, a checkpoint. Where none comes for longer than the
// timeout, `on_hang` is called once, on a thread of this object. A probe is a process of its own
// that gives no sign, so its time does not count. Passes all reports on to `inner`.
class Watchdog final : public Observer {
 public:
  // `on_hang` takes the seconds without a sign of life. It usually ends the process. Borrows
  // `inner`.
  Watchdog(Observer& inner, double timeout_s, std::function<void(double silent_s)> on_hang);

  void on(const JobEvent& event) override;

 private:
  using Clock = std::chrono::steady_clock;

  void sign(bool is_watched);
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
