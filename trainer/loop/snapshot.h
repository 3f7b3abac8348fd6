#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/training_state.h"
#include "trainer/weights/write_tensors.h"

namespace berth {

// Whether training continues while a checkpoint is written, or waits for it, which needs no memory
// for copies.
enum class Saving { kBesideTraining, kWhileTrainingWaits };

// How much memory the copies for a save may take, and how long training waits for less.
struct CopyLimits {
  double patience_s = 0;             // how long an update waits for usual_copy_bytes() to suffice
  uint64_t most_bytes = UINT64_MAX;  // an update waits as long as more than that would be copied
};

// The parameters, moments and state of a run at one moment, to be written as a checkpoint while
// training continues.
//
// A writer reads the tensors out of the engine, one after the other. The tensors do not change
// until the next update has run its forward and backward passes. For a large model on CPUs this
// takes seconds, and a fast disk has everything by then. Before the update changes a tensor, only
// the part that is not written yet is copied. CheckFreq (Mohan et al., FAST 2021) copies the whole
// state at this point, and the update waits for it. PyTorch's distributed checkpoints (async_save)
// and Orbax make that copy before the next step begins.
//
// Two threads: a writer calls write_parameters(), write_moments() and end(); begin() and
// before_change() are called by the thread that trains. A snapshot may begin when the one before it
// has ended.
class Snapshot {
 public:
  // The snapshot is of this moment. The engine must outlive it, and before_change() must be called
  // before an update changes the engine's tensors.
  void begin(const TrainingState& state, const Engine& engine, const CopyLimits& limits);

  // Returns when the engine may change. Copies the part that the writer has not read, after waiting
  // as CopyLimits say. Does not wait for a snapshot that has ended.
  void before_change();

  const TrainingState& state() const { return state_; }
  uint64_t parameter_bytes() const;
  uint64_t moment_bytes() const;

  // The parameters come first. Neither closes the sink. The same tensors can be written again, as
  // after a lost upload, until the engine has changed. After that, they throw kUnavailable.
  void write_parameters(ByteSink& sink);
  void write_moments(ByteSink& sink);
  // Nothing more will be written, because all is written or because writing failed.
  void end();

 private:
  using Metadata = std::map<std::string, std::string>;

  std::span<const SavedTensor> parameters() const;
  std::span<const SavedTensor> moments() const;
  void write(ByteSink& sink, size_t first, size_t last, const Metadata& metadata);
  void write_tensor(ByteSink& sink, size_t index);
  void start_at(size_t index);
  uint64_t unread_bytes() const;
  void copy_unread();

  TrainingState state_;
  std::vector<SavedTensor> tensors_;  // the parameters, then the moments of what trains
  size_t parameter_count_ = 0;
  CopyLimits limits_;
  uint64_t usual_bytes_ = 0;  // copies of that size are made without waiting
  int64_t piece_ = 0;         // elements that are read at once

  std::mutex mutex_;  // guards the members below, and reading the engine
  std::condition_variable changed_;
  bool is_open_ = false;      // from begin() to end()
  bool has_changed_ = false;  // the engine's tensors differ from the snapshot now
  size_t next_ = 0;           // the tensor that is read next
  int64_t next_element_ = 0;
  std::vector<std::vector<float>> copies_;  // by tensor: all elements that were unread
};

// How many bytes the copies for a snapshot take without an update waiting for the writer. It is as
// much as the parameters, a third of the whole state. An engine with updates in flight changes its
// state as soon as the next update is started, so that nothing is written before: there it is the
// whole state of what trains.
uint64_t usual_copy_bytes(std::span<const ParameterSpec> specs, const EngineInfo& info);
// The memory that the writer needs besides.
uint64_t writer_bytes(std::span<const ParameterSpec> specs, const EngineInfo& info);

// The name of a moment in the optimizer's file is this prefix and the name of its parameter.
inline constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

}  // namespace berth
