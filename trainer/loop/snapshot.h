#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/training_state.h"
#include "trainer/weights/write_tensors.h"

namespace berth {

// Whether training continues while a copy is written as a checkpoint, or waits, which needs no
// memory for a copy.
enum class Saving { kBesideTraining, kWhileTrainingWaits };

// The parameters, moments and state of a run, to be written as a checkpoint. It is a copy in this
// process's memory, so that training can continue, or a reference to the engine.
class Snapshot {
 public:
  // Takes a copy. The next copy must be of the same model and reuses the memory.
  void take(const TrainingState& state, const Engine& engine);
  // Copies the state only. The engine must not change until everything is written.
  void refer_to(const TrainingState& state, const Engine& engine);

  void clear() { *this = Snapshot(); }  // frees the copy

  const TrainingState& state() const { return state_; }
  uint64_t parameter_bytes() const { return size_bytes_of(parameters_); }
  uint64_t moment_bytes() const { return size_bytes_of(moments_); }
  // Neither closes the sink. A copy is lent to the sink (ByteSink::lend), so the sink must be
  // closed before the next take() or clear(). Without a copy, one tensor is read after the other.
  void write_parameters(ByteSink& sink) const;
  void write_moments(ByteSink& sink) const;

 private:
  TrainingState state_;
  std::vector<SavedTensor> parameters_, moments_;
  std::optional<CopiedTensors> parameter_copy_, moment_copy_;
};

// The name of a moment in the optimizer's file is this prefix and the name of its parameter.
inline constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

}  // namespace berth
