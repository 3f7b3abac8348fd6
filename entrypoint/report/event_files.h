#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "entrypoint/report/probe_events.h"
#include "storage/base/background.h"
#include "storage/base/clock.h"
#include "storage/formats/plugin_events.h"
#include "storage/storage.h"
#include "trainer/loop/observer.h"

namespace berth {

// One TensorBoard run: a directory of event files. Object storage cannot append, so every flush
// writes a new file. The names sort by time:
//   events.out.tfevents.<10-digit unix seconds>.<writer>.<6-digit counter>
// One thread may add while another one flushes.
class EventRun {
 public:
  // `storage` outlives this. `writer` identifies the process: process_name().
  EventRun(Storage& storage, Uri directory, std::string writer);

  void add(const std::vector<std::byte>& record);

  // Stores the records that were added since the last flush, if there are any. `now_s` is the time
  // of the wall clock. When it throws, the next flush writes the records.
  void flush(double now_s);

 private:
  Storage& storage_;
  const Uri directory_;
  const std::string writer_;
  std::mutex mutex_;  // guards pending_
  std::vector<std::byte> pending_;
  double last_name_s_ = 0;
  int counter_ = 0;
};

struct EventFileOptions {
  std::string writer;             // process_name()
  std::string settings;           // Markdown for the Text tab of TensorBoard
  std::vector<HParam> hparams{};  // for its HParams tab
  Clock wall_clock = wall_clock_s, steady_clock = steady_clock_s;
};

// Writes the TensorBoard summaries of a job: the run `train` has loss, learning_rate, grad_norm and
// examples_per_second at logged steps. The run `eval` has the loss and each metric, and for classes
// the result of class_events(). The run `probe` has the records of ProbeEvents. The folder itself
// has the settings for the HParams tab, which finds the metrics in the runs below.
//
// The names of Keras' TensorBoard callback are there, too: epoch_loss, epoch_learning_rate and
// epoch_<metric> at whole epochs, which are counted from 0, and evaluation_<metric>_vs_iterations.
// An epoch that another process began has no epoch_loss in `train`.
//
// The records are stored at the start and at the end. In between, a thread of their own stores them
// each time 10 s and 5 % of the time so far have passed. A write that fails is a warning, and its
// records go with the next write. Only the first write throws, where the summary directory may not
// be written to (kNotPermitted).
class EventFiles final : public Observer {
 public:
  EventFiles(Storage& storage, const Uri& summary_dir, EventFileOptions options);
  ~EventFiles() override;  // stores the remaining records, so that a stopped job has its summaries,
                           // too

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_probes(const std::vector<ProbeReport>& reports) override;
  void on_finish() override;

  // Adds the results of an earlier process's probes that it did not store.
  void restore(const std::vector<ProbeReport>& reports);

  // Waits until every write that was started is done.
  void wait() { background_.wait(); }

 private:
  void add_epoch(const StepReport& report);
  void flush_when_due();
  void flush();

  const EventFileOptions options_;
  EventRun job_, train_, eval_;
  double epoch_loss_ = 0, epoch_weight_ = 0;  // sums over the updates of this epoch
  bool is_whole_epoch_ = false;               // whether this process began it
  ProbeEvents probes_;
  double began_s_, flushed_s_;
  Background background_;  // the last member, because it must end before the members that it uses
};

}  // namespace berth
