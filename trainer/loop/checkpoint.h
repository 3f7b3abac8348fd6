#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/data/sampler.h"
#include "trainer/kernels/kernels.h"
#include "trainer/loop/observer.h"
#include "trainer/model/parameters.h"
#include "trainer/optim/optimizer.h"

namespace berth {

// The best evaluation of a job.
struct Best {
  int64_t step = 0;
  std::string metric{};  // its name
  double value = 0;
};

// Where a training run stands between two updates; with the parameters and the moments, all there
// is.
struct TrainingState {
  int64_t step = 0;  // updates done
  DataCursor cursor{};
  int64_t examples = 0, tokens = 0;  // seen so far, by all processes
  double loss_sum = 0;               // over those examples
  int64_t evaluated_step = -1;       // the last step that was evaluated
  std::optional<Best> best{};
  std::string kernels{};  // what computed it: results repeat bit for bit on the same
};

// The checkpoints of a job: DIR/step-00000500/{model,optimizer}.safetensors, state.json, and last
// of all MANIFEST.json with the size and CRC-32C of each. A checkpoint without a manifest that fits
// is none.
class CheckpointStore {
 public:
  // Keeps the newest `limit` checkpoints, and the best one; 0: all.
  CheckpointStore(Storage& storage, Uri directory, int64_t limit);

  // Writes the checkpoint of `state.step`, then removes what the limit no longer keeps. A failed
  // removal only warns.
  CheckpointReport save(const TrainingState& state, const Parameters& parameters,
                        const Optimizer& optimizer, Kernels& kernels);

  // Loads the newest complete checkpoint; nullopt: there is none. One that is incomplete or damaged
  // is passed over with a warning. Throws kIncompatible when its tensors are not this model's.
  std::optional<TrainingState> restore(Parameters& parameters, Optimizer& optimizer,
                                       Kernels& kernels);

  // Writes best.json.
  void record_best(const Best& best);

  Uri step_directory(int64_t step) const;

 private:
  std::vector<int64_t> steps();  // that have a directory, ascending
  void prune(const TrainingState& state);

  Storage& storage_;
  Uri directory_;
  int64_t limit_;
};

}  // namespace berth
