#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/report/final_report.h"
#include "entrypoint/report/html/job_page.h"
#include "storage/base/clock.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/observer.h"

namespace berth {

struct HtmlReportOptions {
  Uri file;                           // JOB_DIR/report.html
  JobFacts facts{};                   // without `plan`
  std::string metric{};               // by which the best model is chosen
  std::vector<ProbeReport> probes{};  // the results of the job's earlier processes, by their steps
  int64_t save_steps = 0;             // updates from one checkpoint to the next; 0: not known
  Clock wall_clock = wall_clock_s, steady_clock = steady_clock_s;
  Sleep sleep = sleep_s;
};

// Writes report.html, the page about a job for people (html/job_page.h): after each evaluation,
// before and after each checkpoint, and at the end. It reads back the page of an earlier process of
// the job, so that curves begin at the first update and have no point twice. If a kill comes after
// a checkpoint is complete and before the page with its last updates is written, those updates are
// missing.
//
// A thread of its own draws and writes. While it is busy, news is collected. Drawing takes at most
// 1 % of the time while the job trains, and two writes are at least one second apart in remote
// storage. A failure is one warning: the job goes on, and later writes try again.
class HtmlReport final : public Observer {
 public:
  // Borrows `storage`.
  HtmlReport(Storage& storage, HtmlReportOptions options);
  // If the job has neither finished nor ended(), writes that it failed.
  ~HtmlReport() override;

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_second_evaluation(const EvaluationReport& report) override;
  void on_probes(const std::vector<ProbeReport>& reports) override;
  void on_checkpoint(const CheckpointReport& report) override;
  // Writes that the job has finished, and waits until that is done.
  void on_finish() override;

  // The evaluation of the model with which the job ends.
  void set_result(const EvaluationResult& evaluation, int64_t step);
  // The job ends without a result. Writes so, unless the last write failed, and waits.
  void ended(const FinalReport& how);

  void wait() { background_.wait(); }

 private:
  void write_when_due();
  void submit();
  // These run on the thread of their own.
  void begin() noexcept;
  void write() noexcept;

  Storage& storage_;
  const HtmlReportOptions options_;
  bool is_over_ = false;
  std::optional<double> written_s_;  // by the steady clock, on the thread of its own
  bool warned_ = false;              // the same
  std::mutex mutex_;                 // guards what follows
  JobPage page_;
  bool is_dirty_ = false;    // there is news that no write has
  bool is_queued_ = false;   // a write is queued that has not read the page yet
  bool fails_ = false;       // the last write failed
  double not_before_s_ = 0;  // when the next write may begin while the job trains
  Background background_;    // the last member, because it must end before the members that it uses
};

}  // namespace berth
