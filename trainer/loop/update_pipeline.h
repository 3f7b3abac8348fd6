#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "trainer/data/batcher.h"
#include "trainer/engine/engine.h"
#include "trainer/model/training_flops.h"

namespace berth {

// Starts updates on an engine and collects their outcomes in order. The loop need not wait for a
// device after every update: it can collect the outcome of one update while the next one runs.
// Borrows the engine. Not thread-safe.
class UpdatePipeline {
 public:
  explicit UpdatePipeline(Engine& engine, const TrainingFlops& flops = {})
      : engine_(engine), flops_(flops) {}

  // An update that was started.
  struct Update {
    int64_t examples = 0, tokens = 0;
    DataCursor begin{}, end{}, after{};  // as in UpdateBatch
    double flops = 0;
    UpdateOutcome outcome{};
    // Since its start, or since the last collected update. Without the time of compiling, which
    // only the first updates take.
    double seconds = 0;
  };

  // Returns false if `stop` was set meanwhile. The update was not made then.
  bool start(const UpdateBatch& batch, const UpdateInputs& inputs, const std::atomic<bool>& stop);
  // Waits for the oldest update and returns it. Returns nullopt if at most `most_in_flight` updates
  // are in flight.
  std::optional<Update> collect(size_t most_in_flight);
  // Waits for all updates in flight and drops their outcomes.
  void discard();

  size_t in_flight() const { return updates_.size(); }

 private:
  Engine& engine_;
  const TrainingFlops flops_;
  std::deque<Update> updates_;
  std::chrono::steady_clock::time_point since_{};  // when the oldest update's time begins
  double compiled_s_ = 0;                          // Engine::compile_seconds() at that time
};

}  // namespace berth
