#pragma once

#include <cstdint>
#include <optional>

#include "trainer/engine/engine.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/options.h"

namespace berth {

// When the loop saves, and what it does about a save that is slow or fails. Training does not stand
// still for slow storage: a save that becomes due while the one before is still being written is
// postponed until that is done. The checkpoint of the best evaluation cannot come later, so it
// waits for the one before. Borrows all of its parts; `state` is the loop's, and its `best` is kept
// true.
class Saves {
 public:
  Saves(const TrainingOptions& options, CheckpointStore& checkpoints, const Engine& engine,
        Observer& observer, TrainingState& state);

  // Learns how the save under way ended, if it has. A save that failed is a warning.
  void poll() { settle(checkpoints_.poll()); }
  // Whether the state after `step` updates is to be saved, by --save-steps or because an earlier
  // save was postponed.
  bool due(int64_t step) const;
  // Saves where that is due now.
  void save_when_due();
  // Starts a save of the state as it is, once the one before has ended.
  void save();
  bool has_saved(int64_t step) const { return saved_step_ == step; }
  // Waits for the save under way, and throws its failure.
  void finish();
  // The same where another failure is what the caller hears of.
  void finish_quietly() noexcept;

  // Waits for the save under way and frees its copy, before the state goes back to a checkpoint.
  void pause();
  void resume();  // The state is that of a checkpoint, or of the beginning.

 private:
  void settle(const std::optional<SaveOutcome>& outcome);

  const TrainingOptions& options_;
  CheckpointStore& checkpoints_;
  const Engine& engine_;
  Observer& observer_;
  TrainingState& state_;
  bool saving_ = false;      // A save was started whose end is not known yet.
  bool owes_save_ = false;   // One is due.
  int64_t saved_step_ = -1;  // The newest that was saved or is being saved; -1: none.
  std::optional<Best> saved_best_, saving_best_;
};

}  // namespace berth
