#include "trainer/loop/saves.h"

#include <exception>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

Saves::Saves(const TrainingOptions& options, CheckpointStore& checkpoints, const Engine& engine,
             Observer& observer, TrainingState& state)
    : options_(options),
      checkpoints_(checkpoints),
      engine_(engine),
      observer_(observer),
      state_(state) {
  resume();
}

void Saves::pause() {
  settle(checkpoints_.wait());
  checkpoints_.free_copy();
}

void Saves::resume() {
  saved_step_ = state_.step == 0 ? -1 : state_.step;
  saved_best_ = state_.best;
  owes_save_ = false;
}

bool Saves::due(int64_t step) const {
  if (!options_.keeps_weights) return false;
  const int64_t every = options_.save_steps;
  const bool by_steps = every > 0 && step % every == 0 && saved_step_ != step;
  return by_steps || (owes_save_ && !saving_);
}

void Saves::save_when_due() {
  if (due(state_.step)) {
    owes_save_ = true;
    if (saving_) settle(checkpoints_.poll(options_.save_patience_s));
    if (saving_) {
      log_warning(cat("the checkpoint of step ", saved_step_,
                      " is still being written: the save of step ", state_.step,
                      " is postponed until then"));
    }
  }
  if (owes_save_ && !saving_) save();
}

void Saves::save() {
  if (!options_.keeps_weights) return;
  owes_save_ = false;
  std::optional<SaveOutcome> before = checkpoints_.poll();
  if (!before && saving_) {
    log_info(cat("waiting until the checkpoint of step ", saved_step_, " is written"));
    observer_.on_saving(saved_step_);
    before = checkpoints_.wait();
  }
  settle(before);
  if (checkpoints_.saves_while_training_waits()) observer_.on_saving(state_.step);
  checkpoints_.start_save(state_, engine_);
  saving_ = true;
  saved_step_ = state_.step;
  saving_best_ = state_.best;
}

// Reports the end of a save. A failure is only a warning, because a later save may succeed.
void Saves::settle(const std::optional<SaveOutcome>& outcome) {
  if (!outcome) return;
  saving_ = false;
  if (!outcome->failure) {
    saved_best_ = saving_best_;
    observer_.on_checkpoint(outcome->report);
    return;
  }
  saved_step_ = -1;
  std::optional<Best>& best = state_.best;
  if (best && best->step == outcome->report.step) best = saved_best_;
  try {
    std::rethrow_exception(outcome->failure);
  } catch (const Error& error) {
    // Where another process writes, this one must not go on.
    if (error.code() == Code::kInternal || error.code() == Code::kInUse) throw;
    log_warning(cat("checkpoint of step ", outcome->report.step, " was not saved: ", error.what(),
                    "; training goes on, the next save tries again"));
  }
}

void Saves::finish() {
  if (saving_) observer_.on_saving(saved_step_);
  const std::optional<SaveOutcome> outcome = checkpoints_.wait();
  if (outcome && outcome->failure) std::rethrow_exception(outcome->failure);
  settle(outcome);
}

void Saves::finish_quietly() noexcept {
  try {
    settle(checkpoints_.wait());
  } catch (const std::exception& error) {
    log_debug(cat("the save in progress failed, too: ", error.what()));
  } catch (...) {
    log_debug("the save in progress failed, too");
  }
}

}  // namespace berth
