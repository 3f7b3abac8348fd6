#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "storage/base/clock.h"

namespace berth {

// The results of a finished job, and the user's next step. An absent value is empty.
struct JobResults {
  std::string model{}, report{}, predictions{}, embeddings{};  // where they are
  std::string next{};          // a command for a shell; in a container, the arguments alone
  std::string next_purpose{};  // what it is for: "predict the rows of a new file"
  std::string read{};          // an expression of Python that reads the predictions or embeddings
};

// The progress of a job. The final report has it, whether the job succeeded or failed. Thread-safe,
// because a signal may end the process while the job goes on.
class JobProgress {
 public:
  explicit JobProgress(int64_t step = 0, std::string checkpoint = {})
      : step_(step), checkpoint_(std::move(checkpoint)) {}

  void set_step(int64_t step) {
    const std::lock_guard lock(mutex_);
    step_ = step;
  }
  void set_checkpoint(std::string checkpoint) {
    const std::lock_guard lock(mutex_);
    checkpoint_ = std::move(checkpoint);
  }
  void set_results(JobResults results) {
    const std::lock_guard lock(mutex_);
    results_ = std::move(results);
  }

  // The updates that were done.
  int64_t step() const {
    const std::lock_guard lock(mutex_);
    return step_;
  }
  // The newest complete checkpoint. Empty: there is none.
  std::string checkpoint() const {
    const std::lock_guard lock(mutex_);
    return checkpoint_;
  }
  JobResults results() const {
    const std::lock_guard lock(mutex_);
    return results_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t step_;
  std::string checkpoint_;
  JobResults results_;
};

// How the process ended. It is the last line on standard error where that takes JSON lines, and the
// termination message of the pod.
struct FinalReport {
  int code = 0;                               // the exit code
  std::string reason{}, what{};               // "finished", or reason(Code) and the problem
  std::string where{}, hint{}, checkpoint{};  // empty where there is nothing to say
  int64_t step = 0;
  JobResults results{};  // of a job that finished
};

FinalReport success_report(const JobProgress& progress);

// The report of an exception: an Error by its code, std::bad_alloc as kMemory, and anything else as
// kInternal.
FinalReport failure_report(const std::exception_ptr& failure, const JobProgress& progress);

// "where: what; hint", for people, in printable characters (storage/base/text.h).
std::string sentence(const FinalReport& report);

// The lines that name the results and the next command, for people. Empty where there are none.
std::string results_text(const JobResults& results);

// One JSON object, with the time, the severity and the message that a console of logs shows. It has
// printable characters, no newline, and at most 4096 bytes, because Kubernetes stores no more. If
// it would be longer, the results are left out. If it is then still too long, long texts are cut at
// their ends.
std::string json_line(const FinalReport& report, const Clock& wall_clock = wall_clock_s);

// Writes `line` to `file` where the platform provides that file. Otherwise, and on failure, it does
// nothing.
void write_termination_log(const std::string& line,
                           const std::filesystem::path& file = "/dev/termination-log");

}  // namespace berth
