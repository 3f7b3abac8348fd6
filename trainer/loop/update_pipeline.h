#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "trainer/data/batcher.h"
#include "trainer/engine/engine.h"

namespace berth {

// Starts updates on an engine and collects their outcomes in order. An engine that computes on a
// device need not be waited for after every update: the outcome of one is learned while the next is
// under way. Borrows the engine. Not thread-safe.
class UpdatePipeline {
 public:
  explicit UpdatePipeline(Engine& engine) : engine_(engine) {}

  // An update that was started.
  struct Update {
    int64_t examples = 0, tokens = 0;
    DataCursor begin{}, end{}, after{};  // As UpdateBatch has them.
    UpdateOutcome outcome{};
    double seconds = 0;  // Since it was started, or since the update before it was collected.
  };

  // Returns false where `stop` was set meanwhile: the update was then not made.
  bool start(const UpdateBatch& batch, const UpdateInputs& inputs, const std::atomic<bool>& stop);
  // Collects the oldest update, unless at most `most_in_flight` of them are under way.
  std::optional<Update> collect(size_t most_in_flight);
  // Waits for all updates under way, and forgets them.
  void discard();

  size_t in_flight() const { return updates_.size(); }

 private:
  Engine& engine_;
  std::deque<Update> updates_;
  std::chrono::steady_clock::time_point since_{};  // From here on the oldest update's time counts.
};

}  // namespace berth
