#pragma once

#include <cstdint>
#include <functional>

#include "storage/base/profiler.h"

namespace berth {

// Which updates of a training are recorded.
struct ProfileWindow {
  Profiler& profiler;
  int64_t first = 0, updates = 0;  // counted from the first update of this process
  // Called by the training thread when all of them are recorded.
  std::function<void()> when_recorded{};

  int64_t end() const { return first + updates; }
};

// Records one update, with what comes before and after it: waiting for its data, evaluating and
// saving. It lives as long as that takes.
class UpdateRecorder {
 public:
  // `window` may be null: nothing is recorded. `update` counts from the first one of this process.
  UpdateRecorder(const ProfileWindow* window, int64_t update)
      : profiler_(window != nullptr && update >= window->first && update < window->end()
                      ? &window->profiler
                      : nullptr) {
    if (profiler_ == nullptr) return;
    profiler_->start();
    profiler_->open("update");
  }
  ~UpdateRecorder() {
    if (profiler_ == nullptr) return;
    profiler_->close(0);
    profiler_->stop();
  }
  UpdateRecorder(const UpdateRecorder&) = delete;
  UpdateRecorder& operator=(const UpdateRecorder&) = delete;

 private:
  Profiler* const profiler_;
};

}  // namespace berth
