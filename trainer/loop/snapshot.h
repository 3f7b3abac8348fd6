#pragma once

#include <vector>

#include "storage/formats/tensor_file.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/cpu/parameters.h"
#include "trainer/loop/training_state.h"
#include "trainer/weights/placed_tensors.h"

namespace berth {

// The first parameter that trains: no moments are kept of those before it, the values that LoRA
// leaves as they are.
size_t first_trained(const Parameters& parameters);

// Whether training goes on while a checkpoint is written, of a copy, or waits, which takes no
// memory.
enum class Saving { kBesideTraining, kWhileTrainingWaits };

// All that a run has learned, to be written: a copy in this machine's memory, which lets training
// go on meanwhile, or the run itself.
class Snapshot {
 public:
  // A copy, whose memory is used again by the next one. Of the same model each time.
  void take(const TrainingState& state, const Parameters& parameters, const Optimizer& optimizer,
            Kernels& kernels);
  // Copies but the state: the others stay as they are until all is written.
  void refer_to(const TrainingState& state, const Parameters& parameters,
                const Optimizer& optimizer, Kernels& kernels);

  void clear() { *this = Snapshot(); }  // gives its memory back

  const TrainingState& state() const { return state_; }
  uint64_t parameter_bytes() const;
  uint64_t moment_bytes() const;
  // A copy is lent to the sink, which they do not close: it is closed before the next take() or
  // clear(). What is none comes one tensor after the other.
  void write_parameters(ByteSink& sink) const;
  void write_moments(ByteSink& sink) const;

 private:
  TrainingState state_;
  std::vector<float> parameters_, first_moment_, second_moment_;
  std::vector<NamedTensor> parameter_tensors_, moment_tensors_;  // over these
  std::vector<PlacedTensor> placed_parameters_, placed_moments_;
  Kernels* kernels_ = nullptr;  // where those lie; null: there is a copy
};

// How the optimizer's file names the moments of a parameter: this, then its name.
inline constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

}  // namespace berth
