#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "storage/base/background.h"
#include "storage/base/clock.h"
#include "storage/storage.h"
#include "trainer/loop/observer.h"

namespace berth {

// One TensorBoard run: a directory of event files. A stored object appears whole, so every flush
// makes a new file, and the names sort by time:
//   events.out.tfevents.<10-digit unix seconds>.<writer>.<6-digit counter>
// One thread may add while another flushes.
class EventRun {
 public:
  // `storage` outlives this. `writer` is "host.pid".
  EventRun(Storage& storage, Uri directory, std::string writer);

  void add(const std::vector<std::byte>& record);

  // Stores what was added since the last time, if anything; `now_s` is the wall clock's time. When
  // it throws, it keeps the records for the next try.
  void flush(double now_s);

 private:
  Storage& storage_;
  const Uri directory_;
  const std::string writer_;
  std::mutex mutex_;  // of pending_
  std::vector<std::byte> pending_;
  double last_name_s_ = 0;
  int counter_ = 0;
};

struct EventFileOptions {
  std::string writer;    // "host.pid"; see this_writer()
  std::string settings;  // Markdown for the Text tab
  Clock wall_clock = wall_clock_s, steady_clock = steady_clock_s;
};
std::string this_writer();

// TensorBoard scalars of the job: run `train` (loss, learning_rate, grad_norm, examples_per_second,
// at logged steps) and run `eval` (loss and each metric). Stored at start, after 10 s, then each
// time 10 s or 5 % of the time so far have passed, on a thread of its own, and at the end. A write
// that fails is a warning and is tried again with the next; only a summary directory that refuses
// the first one throws (kNotPermitted).
class EventFiles final : public Observer {
 public:
  EventFiles(Storage& storage, const Uri& summary_dir, EventFileOptions options);
  ~EventFiles() override;  // stores what is left, so that a stopped job keeps its summaries

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_finish() override;

  // Until what was due is stored.
  void wait() { background_.wait(); }

 private:
  void flush_when_due();
  void flush();

  const EventFileOptions options_;
  EventRun train_, eval_;
  double began_s_, flushed_s_;
  Background background_;  // last, so that it ends before what it uses
};

}  // namespace berth
