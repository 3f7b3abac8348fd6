#pragma once

#include <memory>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"
#include "entrypoint/report/final_report.h"
#include "entrypoint/report/standard_streams.h"
#include "trainer/loop/observer.h"

namespace berth {

// All output of a job while it runs: it owns the log sink and passes each event on to the
// observers, in the order in which they were added. It also keeps `progress` current. It lives as
// long as the job.
class JobOutput final : public Observer {
 public:
  JobOutput(const CommandLine& command_line, const Platform& platform, JobProgress& progress);

  void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
  size_t observers() const { return observers_.size(); }
  // Removes all observers but the `first` ones. There are at least `first`.
  void keep_observers(size_t first) { observers_.resize(first); }

  void on(const JobEvent& event) override;

 private:
  JobProgress& progress_;
  TerminalLine line_;
  ScopedLogSink sink_;
  std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace berth
