#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "trainer/engine/engine.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/training_state.h"

namespace berth {

// Decides from the clock when a checkpoint is due. --save-steps is a separate rule.
//
// If the user chose no interval, it is 100 times as long as a save takes. So saving costs at most 1
// % of the time. The interval is at least five minutes. It is at most half an hour, so that a kill
// loses little. Because of this limit, a save of more than 18 s may cost more than 1 %.
class SavePace {
 public:
  // `minutes`: the interval; 0: the time does not matter; empty: it follows from the duration of
  // saves. The time runs from now on.
  SavePace(std::optional<double> minutes, Clock steady_clock);

  bool due() const;
  // A save begins, so the time runs from now on.
  void restart() { began_s_ = clock_(); }
  // The last save took `seconds`.
  void took(double seconds);

  bool is_automatic() const { return !minutes_; }
  double interval_s() const { return interval_s_; }

 private:
  const std::optional<double> minutes_;
  const Clock clock_;
  double interval_s_;
  double began_s_;
};

// What a loop saves between two updates.
enum class SaveDue : uint8_t {
  kNothing,
  kBySteps,    // the step is a multiple of --save-steps
  kPostponed,  // a save was postponed, and the save before it has ended
  kByTime,     // the interval of SavePace has passed
};

// The state that the decision depends on.
struct SaveFacts {
  int64_t save_steps = 0;        // --save-steps; 0: none
  int64_t step = 0;              // updates so far
  int64_t last_step = 0;         // with which the job ends; it is saved anyway
  int64_t saved_step = -1;       // of the newest save that was started; -1: none, or it failed
  bool is_saved = false;         // whether it holds `step` and its evaluation and probes
  bool is_saving = false;        // whether a save is being written
  bool is_owed = false;          // whether a save was postponed
  bool has_time_passed = false;  // SavePace::due()
};

// Decides what is due. A save by time is not postponed: while another save is being written, it is
// not due.
SaveDue save_due(const SaveFacts& facts);

// Whether a save ends within `left_s`, of which it must leave a second. It may take 1.2 times as
// long as the last one. If a save is being written, that one must end first, so the time counts
// twice.
bool save_fits(double last_took_s, bool is_saving, double left_s);

// Calls `write`, which writes what a trained job leaves. Throws kUnavailable in place of
// kNotPermitted, so that the platform starts the job again. The directory could be written when the
// job began, and a restart may find that it can be written again.
void write_last(const std::function<void()>& write);

// Writes the checkpoints of a loop, and handles slow and failed saves. When a save by --save-steps
// is due, an earlier one may still be running. Training then waits at most save_patience_s, and
// postpones the new one. save() waits without a limit, because the checkpoint of the best
// evaluation cannot be made later. A save by the automatic interval makes an interim checkpoint,
// which stays until the next checkpoint is complete. Without TrainingOptions::keeps_weights nothing
// is saved. The arguments must live longer than this object. `state` is the loop's; this object
// writes its members is_interim and replaces. If the save of the best checkpoint fails,
// `state.best` becomes the best one that was saved before.
class Saves {
 public:
  // `last_step` is the one with which the job ends.
  Saves(const TrainingOptions& options, CheckpointStore& checkpoints, Engine& engine,
        Observer& observer, TrainingState& state, int64_t last_step, Clock steady_clock);

  // Reports a save that has ended. A failed save is a warning. Only kInUse (another process writes
  // to the directory), kNotFound (the directory was removed) and kInternal are thrown.
  void poll() { take_outcome(checkpoints_.poll()); }
  // Whether the state after `step` updates must be saved, because of --save-steps or the time, or
  // because a save was postponed.
  bool due(int64_t step) const { return due_at(step) != SaveDue::kNothing; }
  // Saves if that is due now.
  void save_when_due();
  // Waits until the running save has ended. Then it starts a save of the current state.
  void save();
  // Whether a checkpoint has the current state, or is being written with it. One that was saved
  // before the evaluation or the probes of its step has another state.
  bool has_saved() const;
  // As save(), but only if save_fits() in `left_s`. Otherwise it logs that nothing is saved. If no
  // save has ended yet, it saves. nullopt: there is no hurry.
  void save_within(std::optional<double> left_s);
  // Waits for the running save and throws its failure; kNotPermitted becomes kUnavailable, so that
  // the platform starts the job again. If the moments are sharded, this is a collective, as
  // end_together() is.
  void finish();
  // Waits for the running save and logs its failure. Call this where another error is about to be
  // thrown. It is no collective.
  void finish_quietly() noexcept;

  // Waits for the running save, and handles a failure as poll() does. If the moments are sharded,
  // other ranks may not destroy their engines while rank 0 saves. So this is a collective then,
  // which waits on all ranks for rank 0's save.
  void end_together();

  // Waits for the running save. Call this before the state goes back to a checkpoint.
  void wait() { take_outcome(checkpoints_.wait()); }
  // Call this after the state was restored from a checkpoint, or went back to step 0.
  void adopt_state();

 private:
  // What a save holds, and how it is written.
  struct Save {
    int64_t step = -1;  // -1: there is none, or it failed
    int64_t evaluated_step = -1, probed_step = -1;
    std::optional<Best> best{};
    bool is_interim = false;
    bool writes_tensors = true;  // false: the state alone
  };

  static Save of(const TrainingState& state);
  SaveDue due_at(int64_t step) const;
  void start(bool is_interim);
  void say_interval(const CheckpointReport& report);
  void take_outcome(const std::optional<SaveOutcome>& outcome);
  void wait_for_rank_0();

  const TrainingOptions& options_;
  CheckpointStore& checkpoints_;
  Engine& engine_;
  Observer& observer_;
  TrainingState& state_;
  Save newest_;             // that was started
  Save complete_;           // the newest whose checkpoint is complete
  bool saving_ = false;     // whether the outcome of newest_ is not known yet
  bool owes_save_ = false;  // whether a postponed save is due
  const int64_t last_step_;
  SavePace pace_;
  bool said_interval_ = false;
  std::optional<double> last_took_s_;  // by a save of all tensors in this process
};

// Decides which evaluation of a run is the best, and when to stop waiting for a better one.
class BestRule {
 public:
  // `metrics` are the task's metrics, the main metric first. Throws kUsage if the options name
  // something else than one of them or "loss".
  BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics);

  // Returns the evaluation at `step` if it is better than `before`, and nullopt otherwise. If
  // values are equal, the first is the best. A value that is not finite is never the best.
  std::optional<Best> better(const EvaluationResult& evaluation, int64_t step,
                             const std::optional<Best>& before) const;

  // Whether the options demand a stop after `evaluations` evaluations since Best::improved_step.
  bool gives_up(int64_t evaluations) const;

 private:
  std::string metric_;  // lower values of "loss" and "mse" are better
  int64_t patience_;    // in evaluations; 0 means without end
  double threshold_;
};

}  // namespace berth
