#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

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

}  // namespace berth
