#include "trainer/loop/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/batcher.h"
#include "trainer/data/prefetcher.h"
#include "trainer/data/sampler.h"
#include "trainer/loop/best_rule.h"
#include "trainer/loop/schedule.h"

namespace berth {
namespace {

constexpr size_t kMostRollbacks = 2;

ScheduleOptions schedule_options(const OptimizationOptions& options, int64_t total_steps) {
  return {.type = options.lr_scheduler_type,
          .peak_rate = options.learning_rate,
          .warmup_steps =
              options.warmup_steps.value_or(warmup_steps(options.warmup_ratio, total_steps)),
          .total_steps = total_steps,
          .power = options.lr_power,
          .end_rate = options.lr_end};
}

// One run of the loop: the state and what is counted beside it.
class Training {
 public:
  Training(const TrainingParts& parts, const Plan& plan, TrainingState state)
      : parts_(parts),
        plan_(plan),
        schedule_(schedule_options(parts.options.optimization, plan.total_steps)),
        best_rule_(parts.options, parts.metrics),
        sampler_(parts.train_data.size(), parts.train_data.block_size(), parts.options.seed),
        step_state_(std::make_unique<StepState>()),
        saved_step_(state.step == 0 ? -1 : state.step),
        saved_best_(state.best) {
    result_.state = std::move(state);
    result_.state.kernels = parts.kernels.description();
  }

  // However it ends, no save is left half-way.
  TrainResult run() {
    try {
      return train();
    } catch (...) {
      finish_save();
      throw;
    }
  }

 private:
  TrainResult train() {
    TrainingState& state = result_.state;
    // Of a process that ended before it could do it.
    if (state.best) parts_.checkpoints.record_best(*state.best);
    for (std::optional<SkippedData> bad; (bad = run_updates());) roll_back(*bad);
    if (state.step < plan_.total_steps) {
      log_info(cat("stopped early after step ", state.step, " of ", plan_.total_steps,
                   ": the best ", state.best->metric, " is step ", state.best->step, "'s"));
    }
    if (!result_.evaluation) evaluate_final();
    if (saved_step_ != state.step) save();
    settle_or_throw();
    parts_.checkpoints.free_copy();  // before the finished model is written
    if (parts_.options.load_best_model_at_end) load_best();
    result_.epochs = epoch();
    return std::move(result_);
  }

  // Updates from where the state stands to the end, or to one that went wrong: its data.
  std::optional<SkippedData> run_updates() {
    const TrainingState& state = result_.state;
    Batcher batcher(batch_options(parts_.options, state.skipped), parts_.train_data);
    Prefetcher prefetcher(batcher, state.cursor, plan_.total_steps - state.step);
    evaluate_when_due();
    for (UpdateBatch batch; !ended() && prefetcher.next(batch);) {
      settle(parts_.checkpoints.poll());
      if (!update(batch)) return SkippedData{.from = batch.begin, .to = batch.end};
      evaluate_when_due();
      save_when_due();
    }
    return std::nullopt;
  }

  // To where a process that begins now would be, but for what is skipped: it is in no checkpoint
  // yet, but such a process comes to the same data and skips them, too.
  void roll_back(const SkippedData& bad) {
    settle(parts_.checkpoints.wait());
    parts_.checkpoints.free_copy();
    std::vector<SkippedData> skipped = std::move(result_.state.skipped);
    std::string job = std::move(result_.state.job);
    skipped.push_back(bad);
    std::optional<TrainingState> before =
        parts_.checkpoints.restore(parts_.parameters, parts_.optimizer, parts_.kernels);
    if (!before) {
      parts_.fill_parameters();
      parts_.kernels.zero(parts_.optimizer.first_moment());
      parts_.kernels.zero(parts_.optimizer.second_moment());
      before.emplace();
    }
    parts_.model.refresh();
    result_.state = std::move(*before);
    result_.state.kernels = parts_.kernels.description();
    result_.state.skipped = std::move(skipped);
    result_.state.job = std::move(job);
    saved_step_ = result_.state.step == 0 ? -1 : result_.state.step;
    saved_best_ = result_.state.best;
    owes_save_ = false;
    interval_loss_ = interval_examples_ = 0;
  }

  bool ended() const {
    const TrainingState& state = result_.state;
    if (state.step >= plan_.total_steps) return true;
    return state.evaluated_step == state.step && state.best &&
           best_rule_.gives_up(evaluations_until(state.step) - evaluations_until(state.best->step));
  }

  void load_best() {
    const std::optional<Best>& best = result_.state.best;
    if (!best || best->step == result_.state.step) return;
    parts_.checkpoints.restore_parameters(best->step, parts_.parameters, parts_.kernels);
    parts_.model.refresh();
    log_info(cat("the model is step ", best->step, "'s, whose ", best->metric, " is the best"));
    evaluate_final();
  }

  // False: it came to no number, and the parameters with it.
  bool update(const UpdateBatch& batch) {
    TrainingState& state = result_.state;
    result_.evaluation.reset();
    const auto start = std::chrono::steady_clock::now();
    const double rate = schedule_.rate(state.step);
    parts_.kernels.begin_step(*step_state_, {.seed = parts_.options.seed,
                                             .step = static_cast<uint64_t>(state.step),
                                             .learning_rate = static_cast<float>(rate)});
    for (const PackedBatch& micro_batch : batch.micro_batches) {
      if (parts_.stop) stop();
      parts_.model.forward(micro_batch, *step_state_, Phase::kTraining);
      parts_.model.backward(*step_state_);
    }
    parts_.optimizer.step(*step_state_);
    parts_.model.refresh();
    const StepOutcome outcome = parts_.kernels.read_step(*step_state_);
    if (!std::isfinite(outcome.loss_sum) || !std::isfinite(outcome.grad_norm)) {
      diverged(outcome, batch.examples);
      return false;
    }

    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    ++state.step;
    state.cursor = batch.after;
    state.examples += batch.examples;
    state.tokens += batch.tokens;
    state.loss_sum += outcome.loss_sum;
    state.loss_weight += outcome.examples;
    result_.examples += batch.examples;
    result_.tokens += batch.tokens;
    result_.seconds += elapsed.count();
    interval_loss_ += outcome.loss_sum;
    interval_examples_ += outcome.examples;
    report(outcome, rate);
    return true;
  }

  void report(const StepOutcome& outcome, double rate) {
    const TrainingState& state = result_.state;
    const int64_t every = parts_.options.logging_steps;
    StepReport report{.step = state.step,
                      .total_steps = plan_.total_steps,
                      .epoch = epoch(),
                      .loss = mean_loss(outcome.loss_sum, outcome.examples),
                      .interval_loss = mean_loss(interval_loss_, interval_examples_),
                      .learning_rate = rate,
                      .grad_norm = outcome.grad_norm};
    report.examples_per_second = static_cast<double>(result_.examples) / result_.seconds;
    report.tokens_per_second = static_cast<double>(result_.tokens) / result_.seconds;
    report.log = state.step == 1 || state.step == plan_.total_steps ||
                 (every > 0 && state.step % every == 0);
    parts_.observer.on_step(report);
    if (report.log) interval_loss_ = interval_examples_ = 0;
  }

  // Passes over the data so far.
  double epoch() { return sampler_.epochs_until(result_.state.cursor); }

  bool evaluation_due() const {
    const TrainingState& state = result_.state;
    if (parts_.eval_data == nullptr || state.step == 0 || state.evaluated_step == state.step) {
      return false;
    }
    if (state.step == plan_.total_steps) return true;
    return evaluations_until(state.step) > evaluations_until(state.step - 1);
  }

  // That are due after so many updates: in an epoch as evenly over its own as whole numbers allow.
  int64_t evaluations_until(int64_t step) const {
    const TrainingOptions& options = parts_.options;
    if (options.eval_steps > 0) return step / options.eval_steps;
    return step * std::min(options.num_eval_per_epoch, plan_.steps_per_epoch) /
           plan_.steps_per_epoch;
  }

  std::optional<EvaluationResult> run_evaluation() {
    return evaluate(parts_.model, parts_.kernels, *parts_.eval_data,
                    parts_.options.examples_per_evaluation_batch(), parts_.reading, parts_.observer,
                    parts_.stop);
  }

  void evaluate_when_due() {
    if (!evaluation_due()) return;
    TrainingState& state = result_.state;
    const std::optional<EvaluationResult> evaluation = run_evaluation();
    if (!evaluation) stop();
    state.evaluated_step = state.step;
    result_.evaluation = evaluation;
    parts_.observer.on_evaluation({.step = state.step,
                                   .epoch = epoch(),
                                   .examples = evaluation->examples,
                                   .loss = evaluation->loss,
                                   .seconds = evaluation->seconds,
                                   .metrics = evaluation->scores.metrics,
                                   .majority_rate = evaluation->scores.majority_rate,
                                   .split = parts_.eval_split});
    if (auto better = best_rule_.better(*evaluation, state.step, state.best)) {
      state.best = std::move(better);
      save();  // the best checkpoint must exist
    }
  }

  // A finished run whose last evaluation was made by an earlier process: once more, for its
  // numbers.
  void evaluate_final() {
    if (parts_.eval_data == nullptr) return;
    result_.evaluation = run_evaluation();
    if (!result_.evaluation) stop();
  }

  bool save_due() const {
    const int64_t every = parts_.options.save_steps;
    const int64_t step = result_.state.step;
    return every > 0 && step % every == 0 && saved_step_ != step;
  }

  // Training does not stand still for slow storage, or for one that is away: a save that is due
  // while the one before is on its way comes after that. Not so the best one's, which cannot come
  // later.
  void save_when_due() {
    if (save_due()) {
      owes_save_ = true;
      if (saving_) settle(parts_.checkpoints.poll(parts_.options.save_patience_s));
      if (saving_) {
        log_warning(cat("the checkpoint of step ", saved_step_,
                        " is still being written: the one of step ", result_.state.step,
                        " is put off until it is"));
      }
    }
    if (owes_save_ && !saving_) save();
  }

  // Starts a save, once the one before has ended.
  void save() {
    owes_save_ = false;
    std::optional<SaveOutcome> before = parts_.checkpoints.poll();
    if (!before && saving_) {
      log_info(cat("waiting until the checkpoint of step ", saved_step_, " is written"));
      before = parts_.checkpoints.wait();
    }
    settle(before);
    parts_.checkpoints.start_save(result_.state, parts_.parameters, parts_.optimizer,
                                  parts_.kernels);
    saving_ = true;
    saved_step_ = result_.state.step;
    saving_best_ = result_.state.best;
  }

  // What a save's end means while training goes on: a failure is no reason to stop.
  void settle(const std::optional<SaveOutcome>& outcome) {
    if (!outcome) return;
    saving_ = false;
    if (!outcome->failure) {
      saved_best_ = saving_best_;
      parts_.observer.on_checkpoint(outcome->report);
      return;
    }
    saved_step_ = -1;
    std::optional<Best>& best = result_.state.best;
    if (best && best->step == outcome->report.step) best = saved_best_;
    try {
      std::rethrow_exception(outcome->failure);
    } catch (const Error& error) {
      if (error.code() == Code::kInternal) throw;
      log_warning(cat("checkpoint of step ", outcome->report.step, " was not saved: ", error.what(),
                      "; training goes on, the next save tries again"));
    }
  }

  // What it means at the end.
  void settle_or_throw() {
    const std::optional<SaveOutcome> outcome = parts_.checkpoints.wait();
    if (outcome && outcome->failure) std::rethrow_exception(outcome->failure);
    settle(outcome);
  }

  // After a failure, which is what the caller hears of.
  void finish_save() noexcept {
    try {
      settle(parts_.checkpoints.wait());
    } catch (const std::exception& error) {
      log_debug(cat("the save in progress failed, too: ", error.what()));
    } catch (...) {
      log_debug("the save in progress failed, too");
    }
  }

  [[noreturn]] void stop() {
    const int64_t step = result_.state.step;
    if (saved_step_ != step && step > 0) save();
    settle_or_throw();
    throw Error(Code::kStopped,
                cat("stopped by a signal after step ", step, " of ", plan_.total_steps),
                step > 0 ? parts_.checkpoints.step_directory(step).to_string() : "",
                "start it again with the same command to go on");
  }

  // Throws kDiverged where it happens too often.
  void diverged(const StepOutcome& outcome, int64_t examples) const {
    const std::string what = cat("at step ", result_.state.step + 1, " the loss is ",
                                 mean_loss(outcome.loss_sum, outcome.examples),
                                 " and the gradient's norm ", outcome.grad_norm);
    const size_t before = result_.state.skipped.size();
    if (before == kMostRollbacks) {
      throw Error(Code::kDiverged, what, "",
                  result_.state.step == 0
                      ? "look for odd labels and weights, and whether the model's own parameters "
                        "are numbers"
                      : "lower --learning-rate, in a new --job-dir, or look for odd labels and "
                        "weights");
    }
    log_warning(cat(what, ": going back to the last checkpoint or the start, and on without the ",
                    examples, " examples of this update (", before + 1, " of at most ",
                    kMostRollbacks, " times)"));
  }

  const TrainingParts& parts_;
  const Plan plan_;
  const Schedule schedule_;
  const BestRule best_rule_;
  Sampler sampler_;  // for the places in its order alone
  std::unique_ptr<StepState> step_state_;
  bool saving_ = false;     // a save was started whose end is not known yet
  bool owes_save_ = false;  // one is due
  int64_t saved_step_;      // the newest that was, or is being, saved; -1: none
  std::optional<Best> saved_best_, saving_best_;
  double interval_loss_ = 0, interval_examples_ = 0;
  TrainResult result_;
};

}  // namespace

TrainResult train(const TrainingParts& parts, const Plan& plan, TrainingState state) {
  return Training(parts, plan, std::move(state)).run();
}

}  // namespace berth
