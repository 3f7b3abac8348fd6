#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace berth {

// How far a job has come. The final report says it, whether the job succeeded or failed.
// Thread-safe, because a signal may end the process while the job goes on.
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

 private:
  mutable std::mutex mutex_;
  int64_t step_;
  std::string checkpoint_;
};

}  // namespace berth
