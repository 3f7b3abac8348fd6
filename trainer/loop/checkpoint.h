#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>

#include "storage/base/background.h"
#include "storage/storage.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/snapshot.h"
#include "trainer/loop/training_state.h"

namespace berth {

// How a save ended.
struct SaveOutcome {
  CheckpointReport report{};
  std::exception_ptr failure{};  // null: the checkpoint is complete
};

// The checkpoints of a job: DIR/step-00000500/{model,optimizer}.safetensors, state.json, and last
// of all MANIFEST.json with the size and CRC-32C of each. A checkpoint without a manifest that fits
// is none. DIR/best.json tells people the best one.
class CheckpointStore {
 public:
  // Keeps the newest `limit` checkpoints that are complete, and the best one; 0: all.
  CheckpointStore(Storage& storage, Uri directory, int64_t limit,
                  Saving saving = Saving::kBesideTraining);

  // Copies what there is to save, then writes it on a thread of its own, or returns when it is
  // written: the checkpoint of `state.step`, best.json where it is the best one, and then removes
  // what the limit no longer keeps (a failed removal only warns). The save before must have been
  // told by poll() or wait().
  void start_save(const TrainingState& state, const Engine& engine);

  // How the last save ended, told once. poll() waits so many seconds at most: nullopt while it
  // runs, too.
  std::optional<SaveOutcome> poll(double wait_s = 0);
  std::optional<SaveOutcome> wait();

  // Gives the memory of the last copy back, until the next save. No save is under way.
  void free_copy() { snapshot_.clear(); }

  // Loads the newest complete checkpoint; nullopt: there is none. One that is incomplete or damaged
  // is passed over with a warning. Throws kIncompatible when its tensors are not this model's.
  std::optional<TrainingState> restore(Engine& engine);

  // Loads the parameters alone, of the checkpoint of `step`. Throws kCorrupt or kNotFound where it
  // is not complete, else as restore().
  void restore_parameters(int64_t step, ParameterTensors& values);

  // The step that best.json names, where its checkpoint is there, else the newest one's; nullopt:
  // there is none.
  std::optional<int64_t> preferred_step();

  // Writes best.json, whose checkpoint must be there.
  void record_best(const Best& best);

  Uri step_directory(int64_t step) const;

 private:
  std::map<int64_t, bool> steps();  // that have a directory; whether it has a manifest
  void save();
  void prune(const TrainingState& state);
  void remove_step(int64_t step);

  Storage& storage_;
  Uri directory_;
  int64_t limit_;
  Saving saving_;
  Snapshot snapshot_;
  std::optional<SaveOutcome> outcome_;
  Background background_;  // last, so that it ends before what it uses
};

}  // namespace berth
