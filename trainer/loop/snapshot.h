#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/training_state.h"
#include "trainer/weights/write_tensors.h"

namespace berth {

// Whether training goes on while a checkpoint is written, of a copy, or waits, which takes no
// memory.
enum class Saving { kBesideTraining, kWhileTrainingWaits };

// All that a run has learned, to be written: a copy in this process's memory, which lets training
// go on meanwhile, or the engine itself.
class Snapshot {
 public:
  // Takes a copy. The next copy, which must be of the same model, uses its memory again.
  void take(const TrainingState& state, const Engine& engine);
  // Copies the state only. The engine must not change until everything is written.
  void refer_to(const TrainingState& state, const Engine& engine);

  void clear() { *this = Snapshot(); }  // Frees the copy.

  const TrainingState& state() const { return state_; }
  uint64_t parameter_bytes() const { return size_bytes_of(parameters_); }
  uint64_t moment_bytes() const { return size_bytes_of(moments_); }
  // Neither closes the sink. A copy is lent to the sink (ByteSink::lend), so that the sink must be
  // closed before the next take() or clear(). Without a copy one tensor is read after the other.
  void write_parameters(ByteSink& sink) const;
  void write_moments(ByteSink& sink) const;

 private:
  TrainingState state_;
  std::vector<SavedTensor> parameters_, moments_;
  std::optional<CopiedTensors> parameter_copy_, moment_copy_;
};

// The optimizer's file names a moment by this prefix and the name of its parameter.
inline constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

}  // namespace berth
