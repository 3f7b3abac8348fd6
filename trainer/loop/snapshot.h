#pragma once

#include <vector>

#include "storage/formats/tensor_file.h"
#include "trainer/kernels/kernels.h"
#include "trainer/loop/training_state.h"
#include "trainer/model/parameters.h"
#include "trainer/optim/optimizer.h"

namespace berth {

// The first parameter that trains: no moments are kept of those before it, the values that LoRA
// leaves as they are.
size_t first_trained(const Parameters& parameters);

// A copy of all that a run has learned, in this machine's memory, to be written while training goes
// on. Its memory is used again by the next copy.
class Snapshot {
 public:
  // Of the same model each time.
  void take(const TrainingState& state, const Parameters& parameters, const Optimizer& optimizer,
            Kernels& kernels);

  void clear() { *this = Snapshot(); }  // gives its memory back

  const TrainingState& state() const { return state_; }
  uint64_t parameter_bytes() const { return parameters_.size() * sizeof(float); }
  uint64_t moment_bytes() const { return 2 * first_moment_.size() * sizeof(float); }
  // Lent to the sink, which they do not close: it is closed before the next take() or clear().
  void write_parameters(ByteSink& sink) const;
  void write_moments(ByteSink& sink) const;

 private:
  TrainingState state_;
  std::vector<float> parameters_, first_moment_, second_moment_;
  std::vector<NamedTensor> parameter_tensors_, moment_tensors_;  // over these
};

// How the optimizer's file names the moments of a parameter: this, then its name.
inline constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

}  // namespace berth
