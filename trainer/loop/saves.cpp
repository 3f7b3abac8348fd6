#include "trainer/loop/saves.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/distributed/communicator.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

constexpr double kTimesItsCost = 100;
constexpr double kLeast_s = 5 * 60, kMost_s = 30 * 60;

}  // namespace

SavePace::SavePace(std::optional<double> minutes, Clock steady_clock)
    : minutes_(minutes),
      clock_(std::move(steady_clock)),
      interval_s_(minutes ? *minutes * 60 : kLeast_s),
      began_s_(clock_()) {}

bool SavePace::due() const { return interval_s_ > 0 && clock_() - began_s_ >= interval_s_; }

void SavePace::took(double seconds) {
  if (is_automatic()) interval_s_ = std::clamp(kTimesItsCost * seconds, kLeast_s, kMost_s);
}

SaveDue save_due(const SaveFacts& facts) {
  const bool is_multiple = facts.save_steps > 0 && facts.step % facts.save_steps == 0;
  if (is_multiple && !facts.is_saved) return SaveDue::kBySteps;
  if (facts.is_saving) return SaveDue::kNothing;
  if (facts.is_owed) return SaveDue::kPostponed;
  const bool may_be_interim = facts.step < facts.last_step && facts.saved_step != facts.step;
  return may_be_interim && facts.has_time_passed ? SaveDue::kByTime : SaveDue::kNothing;
}

bool save_fits(double last_took_s, bool is_saving, double left_s) {
  constexpr double kMargin = 1.2, kRest_s = 1;
  return kMargin * (is_saving ? 2 : 1) * last_took_s + kRest_s <= left_s;
}

void write_last(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.code() != Code::kNotPermitted) throw;
    throw Error(Code::kUnavailable, error.problem(), error.where(),
                "start the job again where it can be written; it goes on from its last checkpoint");
  }
}

Saves::Saves(const TrainingOptions& options, CheckpointStore& checkpoints, Engine& engine,
             Observer& observer, TrainingState& state, int64_t last_step, Clock steady_clock)
    : options_(options),
      checkpoints_(checkpoints),
      engine_(engine),
      observer_(observer),
      state_(state),
      last_step_(last_step),
      pace_(options.save_minutes, std::move(steady_clock)) {
  adopt_state();
}

Saves::Save Saves::of(const TrainingState& state) {
  return {.step = state.step,
          .evaluated_step = state.evaluated_step,
          .probed_step = state.probed_step,
          .best = state.best,
          .is_interim = state.is_interim};
}

void Saves::adopt_state() {
  newest_ = complete_ = state_.step == 0 ? Save() : of(state_);
  owes_save_ = false;
}

bool Saves::has_saved() const {
  return newest_.step == state_.step && newest_.evaluated_step == state_.evaluated_step &&
         newest_.probed_step == state_.probed_step;
}

SaveDue Saves::due_at(int64_t step) const {
  if (!options_.keeps_weights) return SaveDue::kNothing;
  return save_due({.save_steps = options_.save_steps,
                   .step = step,
                   .last_step = last_step_,
                   .saved_step = newest_.step,
                   .is_saved = newest_.step == step && (step != state_.step || has_saved()),
                   .is_saving = saving_,
                   .is_owed = owes_save_,
                   .has_time_passed = pace_.due()});
}

void Saves::save_when_due() {
  switch (due_at(state_.step)) {
    case SaveDue::kNothing:
      return;
    case SaveDue::kByTime:
      return start(/*is_interim=*/pace_.is_automatic());
    case SaveDue::kPostponed:
      return save();
    case SaveDue::kBySteps:
      break;
  }
  owes_save_ = true;
  if (saving_) take_outcome(checkpoints_.poll(options_.save_patience_s));
  if (!saving_) return save();
  log_warning(cat("the checkpoint of step ", newest_.step,
                  " is still being written; a later step is saved in place of step ", state_.step));
}

void Saves::save() {
  if (options_.keeps_weights) start(/*is_interim=*/false);
}

void Saves::save_within(std::optional<double> left_s) {
  if (!left_s || !last_took_s_ || save_fits(*last_took_s_, saving_, *left_s)) return save();
  log_warning(
      formatted("step %lld is not saved: the last checkpoint took %.1f s, and %.1f s are left of "
                "--grace-seconds; the job goes on from that checkpoint",
                static_cast<long long>(state_.step), *last_took_s_, std::max(0.0, *left_s)));
}

void Saves::start(bool is_interim) {
  owes_save_ = false;
  // 1. The end of the earlier save, which newest_ still is.
  std::optional<SaveOutcome> before = checkpoints_.poll();
  if (!before && saving_) {
    log_info(cat("waiting until the checkpoint of step ", newest_.step, " is written"));
    observer_.on(WaitsForSave{newest_.step});
    before = checkpoints_.wait();
  }
  take_outcome(before);
  // 2. The new one, which writes the state alone if a checkpoint has these tensors already.
  if (checkpoints_.saves_while_training_waits()) observer_.on(WaitsForSave{state_.step});
  pace_.restart();
  state_.is_interim = is_interim;
  state_.replaces.reset();
  if (complete_.is_interim && complete_.step != state_.step) state_.replaces = complete_.step;
  const bool has_tensors = newest_.step == state_.step && checkpoints_.save_state(state_);
  if (!has_tensors) checkpoints_.start_save(state_, engine_);
  saving_ = true;
  newest_ = of(state_);
  newest_.writes_tensors = !has_tensors;
}

// Logs the chosen interval when it has mattered for the first time.
void Saves::say_interval(const CheckpointReport& report) {
  if (!newest_.is_interim || std::exchange(said_interval_, true)) return;
  log_info(formatted(
      "a checkpoint takes %.1f s, so one is also saved every %.0f minutes, and removed when two "
      "others are there; --save-minutes chooses another interval",
      report.seconds, std::ceil(pace_.interval_s() / 60)));
}

// Reports the end of a save. Most failures are only warnings, because a later save may succeed.
void Saves::take_outcome(const std::optional<SaveOutcome>& outcome) {
  if (!outcome) return;
  saving_ = false;
  if (!outcome->failure) {
    complete_ = newest_;
    if (newest_.writes_tensors) {
      last_took_s_ = outcome->report.seconds;
      pace_.took(outcome->report.seconds);
    }
    say_interval(outcome->report);
    observer_.on(outcome->report);
    return;
  }
  newest_.step = -1;
  std::optional<Best>& best = state_.best;
  if (best && best->step == outcome->report.step) best = complete_.best;
  try {
    std::rethrow_exception(outcome->failure);
  } catch (const Error& error) {
    // Where another process writes, this one must not go on; and a directory that was removed, or
    // a bucket, does not come back.
    const Code code = error.code();
    if (code == Code::kInternal || code == Code::kInUse || code == Code::kNotFound) throw;
    log_warning(cat("checkpoint of step ", outcome->report.step, " was not saved: ", error.what(),
                    "; training goes on, the next save tries again"));
  }
}

void Saves::finish() {
  if (saving_) observer_.on(WaitsForSave{newest_.step});
  const std::optional<SaveOutcome> outcome = checkpoints_.wait();
  if (outcome && outcome->failure) write_last([&] { std::rethrow_exception(outcome->failure); });
  take_outcome(outcome);
  wait_for_rank_0();
}

void Saves::end_together() {
  take_outcome(checkpoints_.wait());
  wait_for_rank_0();
}

void Saves::wait_for_rank_0() {
  // A collective whose answer does not matter.
  if (engine_.shards_moments()) any_rank(*checkpoints_.ranks(), false);
}

void Saves::finish_quietly() noexcept {
  try {
    take_outcome(checkpoints_.wait());
  } catch (const std::exception& error) {
    log_debug(cat("the save in progress failed, too: ", error.what()));
  } catch (...) {
    log_debug("the save in progress failed, too");
  }
}

BestRule::BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics)
    : metric_(
          options.metric_for_best_model.empty()
              ? metrics.front()
              : checked_metric(options.metric_for_best_model, metrics, "--metric-for-best-model")),
      patience_(options.early_stopping_patience),
      threshold_(options.early_stopping_threshold) {}

std::optional<Best> BestRule::better(const EvaluationResult& evaluation, int64_t step,
                                     const std::optional<Best>& before) const {
  const bool is_error = is_error_metric(metric_);
  const double value =
      metric_ == kLossName ? evaluation.loss : evaluation.scores.metrics.at(metric_);
  if (!std::isfinite(value)) return std::nullopt;
  if (!before) return Best{.step = step, .metric = metric_, .value = value, .improved_step = step};
  const double gain = is_error ? before->value - value : value - before->value;
  if (!(gain > 0)) return std::nullopt;
  return Best{.step = step,
              .metric = metric_,
              .value = value,
              .improved_step = gain > threshold_ ? step : before->improved_step};
}

bool BestRule::gives_up(int64_t evaluations) const {
  return patience_ > 0 && evaluations >= patience_;
}

}  // namespace berth
