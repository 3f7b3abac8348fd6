#include "trainer/loop/train.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/batcher.h"
#include "trainer/engine/engine.h"
#include "trainer/inputs/schedule.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/saves.h"
#include "trainer/model/training_flops.h"

namespace berth {
namespace {

// Records one update, with what comes before and after it: waiting for its data, evaluating and
// saving. It lives as long as that takes.
class UpdateRecorder {
 public:
  // `window` may be null: nothing is recorded. `update` counts from the first one of this process.
  UpdateRecorder(const ProfileWindow* window, int64_t update)
      : profiler_(window != nullptr && update >= window->first && update < window->end()
                      ? &window->profiler
                      : nullptr) {
    if (profiler_ == nullptr) return;
    profiler_->start();
    profiler_->open("update");
  }
  ~UpdateRecorder() {
    if (profiler_ == nullptr) return;
    profiler_->close(0);
    profiler_->stop();
  }
  UpdateRecorder(const UpdateRecorder&) = delete;
  UpdateRecorder& operator=(const UpdateRecorder&) = delete;

 private:
  Profiler* const profiler_;
};

// Starts updates on an engine and collects their outcomes in order. The loop need not wait for a
// device after every update: it can collect the outcome of one update while the next one runs.
// Borrows the engine. Not thread-safe.
class UpdatePipeline {
 public:
  explicit UpdatePipeline(Engine& engine, const TrainingFlops& flops = {})
      : engine_(engine), flops_(flops) {}

  // An update that was started.
  struct Update {
    int64_t examples = 0, tokens = 0;
    DataCursor begin{}, end{}, after{};  // as in UpdateBatch
    double flops = 0;
    UpdateOutcome outcome{};
    // Since its start, or since the last collected update. Without the time of compiling, which
    // only the first updates take.
    double seconds = 0;
  };

  // Returns false if `stop` was set meanwhile. The update was not made then.
  bool start(const UpdateBatch& batch, const UpdateInputs& inputs, const std::atomic<bool>& stop);
  // Waits for the oldest update and returns it. Returns nullopt if at most `most_in_flight` updates
  // are in flight.
  std::optional<Update> collect(size_t most_in_flight);
  // Waits for all updates in flight and drops their outcomes.
  void discard();

  size_t in_flight() const { return updates_.size(); }

 private:
  Engine& engine_;
  const TrainingFlops flops_;
  std::deque<Update> updates_;
  std::chrono::steady_clock::time_point since_{};  // when the oldest update's time begins
  double compiled_s_ = 0;                          // Engine::compile_seconds() at that time
};

bool UpdatePipeline::start(const UpdateBatch& batch, const UpdateInputs& inputs,
                           const std::atomic<bool>& stop) {
  if (updates_.empty()) {
    since_ = std::chrono::steady_clock::now();
    compiled_s_ = engine_.compile_seconds();
  }
  if (!engine_.start_update(batch.micro_batches, inputs, stop)) return false;
  double flops = 0;
  for (const PackedBatch& micro_batch : batch.micro_batches) flops += flops_.of(micro_batch);
  updates_.push_back({.examples = batch.examples,
                      .tokens = batch.tokens,
                      .begin = batch.begin,
                      .end = batch.end,
                      .after = batch.after,
                      .flops = flops});
  return true;
}

std::optional<UpdatePipeline::Update> UpdatePipeline::collect(size_t most_in_flight) {
  if (updates_.size() <= most_in_flight) return std::nullopt;
  Update update = updates_.front();
  updates_.pop_front();
  update.outcome = engine_.collect_update();
  const auto now = std::chrono::steady_clock::now();
  const double compiled_s = engine_.compile_seconds();
  update.seconds = std::chrono::duration<double>(now - since_).count() - (compiled_s - compiled_s_);
  since_ = now;
  compiled_s_ = compiled_s;
  return update;
}

void UpdatePipeline::discard() {
  for (; !updates_.empty(); updates_.pop_front()) engine_.collect_update();
}

constexpr size_t kMostRollbacks = 2;

ScheduleOptions schedule_options(const OptimizationOptions& options, int64_t total_steps) {
  return {.type = options.lr_scheduler_type,
          .peak_rate = options.learning_rate.value_or(kBertLearningRate),
          .warmup_steps =
              options.warmup_steps.value_or(warmup_steps(options.warmup_ratio, total_steps)),
          .total_steps = total_steps,
          .power = options.lr_power,
          .end_rate = options.lr_end};
}

// One run of the loop, with the training state and the counts of this process.
class Training {
 public:
  Training(const TrainingParts& parts, const Plan& plan, TrainingState state)
      : parts_(parts),
        plan_(plan),
        schedule_(schedule_options(parts.options.optimization, plan.total_steps)),
        best_rule_(parts.options, parts.metrics),
        probe_rule_(parts.probe_options, parts.options, plan),
        sampler_(make_sampler(ordered_rows(parts.train_data), batch_options(parts.options, {}))),
        updates_(parts.engine, parts.flops),
        result_{.state = std::move(state), .evaluation = {}},
        saves_(parts.options, parts.checkpoints, parts.engine, parts.observer, result_.state,
               plan.total_steps, parts.steady_clock) {
    result_.state.kernels = parts.engine.info().description;
  }

  // Trains to the end. Finishes a save in progress even if an exception ends the training.
  TrainResult run() {
    try {
      return train();
    } catch (...) {
      saves_.finish_quietly();
      throw;
    }
  }

 private:
  TrainResult train() {
    const double began_s = steady_clock_s();
    TrainingState& state = result_.state;
    // An earlier process may have ended before it recorded the best evaluation.
    if (state.best) parts_.checkpoints.record_best(*state.best);
    parts_.checkpoints.finish_restore(state);
    for (std::optional<SkippedData> bad; (bad = run_updates());) roll_back(*bad);
    if (state.step < plan_.total_steps) {
      log_info(cat("stopped early after step ", state.step, " of ", plan_.total_steps,
                   ": the best ", state.best->metric, " is step ", state.best->step, "'s",
                   parts_.options.load_best_model_at_end
                       ? ""
                       : cat("; the model is step ", state.step,
                             "'s, and --load-best-model-at-end would take the best")));
    }
    probe_unless_probed();  // after an early stop
    if (!result_.evaluation) evaluate_final();
    if (!saves_.has_saved()) saves_.save();
    saves_.finish();
    result_.model_step = state.step;
    if (parts_.options.load_best_model_at_end) load_best();
    result_.epochs = epoch();
    result_.compile_seconds = parts_.engine.compile_seconds();
    result_.loop_seconds = steady_clock_s() - began_s;
    return std::move(result_);
  }

  // Makes updates from the current state to the end. If an update diverges, it stops there and
  // returns the data of that update.
  std::optional<SkippedData> run_updates() {
    const TrainingState& state = result_.state;
    Batcher batcher(batch_options(parts_.options, state.skipped), parts_.train_data);
    Prefetcher prefetcher(batcher, state.cursor, plan_.total_steps - state.step);
    probe_when_due();
    evaluate_when_due();
    UpdateBatch batch;
    std::optional<SkippedData> bad;
    while (!ended() && make_update(prefetcher, batch, bad)) {
      const ProfileWindow* const profile = parts_.profile;
      if (profile != nullptr && begun_ == profile->end()) profile->when_recorded();
    }
    return bad;
  }

  // Makes an update and what is due after it. False: no more data, or `bad` has diverged.
  bool make_update(Prefetcher& prefetcher, UpdateBatch& batch, std::optional<SkippedData>& bad) {
    const UpdateRecorder recorder(parts_.profile, begun_++);
    {
      const ProfileScope scope(profiler(), "waiting for data");
      if (!prefetcher.next(batch)) return false;
    }
    saves_.poll();
    if ((bad = update(batch))) return false;
    if (updates_.in_flight() > 0) return true;
    probe_when_due();
    evaluate_when_due();
    const ProfileScope scope(profiler(), "saving");
    saves_.save_when_due();
    return true;
  }

  Profiler* profiler() const {
    return parts_.profile == nullptr ? nullptr : &parts_.profile->profiler;
  }

  // Goes back to the state from which a new process would begin. No checkpoint lists the skipped
  // data yet, but a new process would meet the same data and skip them, too.
  void roll_back(const SkippedData& bad) {
    saves_.wait();
    std::vector<SkippedData> skipped = std::move(result_.state.skipped);
    std::string job = std::move(result_.state.job);
    skipped.push_back(bad);
    std::optional<TrainingState> before = parts_.checkpoints.restore(parts_.engine);
    if (before) {
      parts_.checkpoints.finish_restore(*before);
    } else {
      parts_.fill_parameters(parts_.engine.tensors(StateTensors::kValues));
      parts_.engine.clear_moments();
      parts_.engine.tensors_written();
      before.emplace();
    }
    result_.state = std::move(*before);
    result_.state.kernels = parts_.engine.info().description;
    result_.state.skipped = std::move(skipped);
    result_.state.job = std::move(job);
    saves_.adopt_state();
    interval_loss_ = interval_examples_ = 0;
  }

  bool ended() const {
    const TrainingState& state = result_.state;
    if (state.step >= plan_.total_steps) return true;
    if (state.evaluated_step != state.step) return false;
    const bool gives_up =
        state.best && best_rule_.gives_up(evaluations_until(state.step) -
                                          evaluations_until(state.best->improved_step));
    // Only rank 0 knows whether the checkpoint of the best evaluation was saved.
    return parts_.ranks == nullptr ? gives_up : is_so_on_rank_0(*parts_.ranks, gives_up);
  }

  void load_best() {
    std::optional<Best>& best = result_.state.best;
    if (parts_.ranks != nullptr) best = share_best(*parts_.ranks, best);
    if (!best) {
      log_warning(
          "no evaluation has a number for the metric that says which model is the best, so the "
          "model is the last one");
    }
    if (!best || best->step == result_.state.step) return;
    result_.model_step = parts_.checkpoints.restore_best(
        best->step, result_.state.step, parts_.engine.tensors(StateTensors::kValues));
    parts_.engine.tensors_written();
    if (result_.model_step == best->step) {
      log_info(cat("the model is step ", best->step, "'s, whose ", best->metric, " is the best"));
    } else {
      result_.lost_best_step = best->step;
    }
    evaluate_final();
  }

  // Starts the update of `batch` and collects the outcomes that are due. After the last update, and
  // before an evaluation or a save, these are the outcomes of all updates in flight. Returns the
  // data of an update that diverged.
  std::optional<SkippedData> update(const UpdateBatch& batch) {
    result_.evaluation.reset();
    const int64_t step = result_.state.step + static_cast<int64_t>(updates_.in_flight());
    const double rate = schedule_.rate(step);
    if (!updates_.start(batch,
                        {.seed = parts_.options.seed,
                         .step = static_cast<uint64_t>(step),
                         .learning_rate = static_cast<float>(rate)},
                        parts_.stop)) {
      stop();
    }
    const bool is_last = step + 1 == plan_.total_steps;
    const bool rests =
        is_last || probe_due(step + 1) || evaluation_due(step + 1) || saves_.due(step + 1);
    return collect(rests ? 0 : parts_.engine.info().updates_in_flight);
  }

  // Collects outcomes until at most `most_in_flight` updates are in flight. If an update diverged,
  // returns its data and discards the later updates, which were computed as if it did not exist.
  std::optional<SkippedData> collect(size_t most_in_flight) {
    while (const auto update = updates_.collect(most_in_flight)) {
      if (!update->outcome.was_applied()) {
        updates_.discard();
        const SkippedData bad{.from = update->begin, .to = update->end};
        diverged(update->outcome, update->examples, bad);
        return bad;
      }
      count(*update);
    }
    return std::nullopt;
  }

  void count(const UpdatePipeline::Update& update) {
    TrainingState& state = result_.state;
    ++state.step;
    state.cursor = update.after;
    state.examples += update.examples;
    state.tokens += update.tokens;
    state.loss_sum += update.outcome.loss_sum;
    state.loss_weight += update.outcome.examples;
    result_.examples += update.examples;
    result_.tokens += update.tokens;
    result_.flops += update.flops;
    result_.seconds += update.seconds;
    interval_loss_ += update.outcome.loss_sum;
    interval_examples_ += update.outcome.examples;
    report(update);
  }

  void report(const UpdatePipeline::Update& update) {
    const UpdateOutcome& outcome = update.outcome;
    const TrainingState& state = result_.state;
    const int64_t every = parts_.options.logging_steps;
    StepReport report{.step = state.step,
                      .total_steps = plan_.total_steps,
                      .epoch = epoch(),
                      .loss = mean_loss(outcome.loss_sum, outcome.examples),
                      .loss_weight = outcome.examples,
                      .interval_loss = mean_loss(interval_loss_, interval_examples_),
                      .learning_rate = schedule_.rate(state.step - 1),
                      .grad_norm = outcome.grad_norm,
                      .examples = update.examples,
                      .tokens = update.tokens,
                      .seconds = update.seconds};
    report.examples_per_second = static_cast<double>(result_.examples) / result_.seconds;
    report.tokens_per_second = static_cast<double>(result_.tokens) / result_.seconds;
    report.log = state.step == 1 || state.step == plan_.total_steps ||
                 (every > 0 && state.step % every == 0);
    report.flops_per_second = result_.flops / result_.seconds;
    if (parts_.device != nullptr) {
      report.peak_flops_per_second = parts_.device->peak_flops();
      if (report.log) report.device_memory = parts_.device->memory();
    }
    parts_.observer.on(report);
    if (report.log) interval_loss_ = interval_examples_ = 0;
  }

  // The number of passes over the data so far.
  double epoch() { return sampler_.epochs_until(result_.state.cursor); }

  bool evaluates() const { return parts_.eval_data != nullptr || parts_.retrieval != nullptr; }

  bool evaluation_due(int64_t step) const {
    if (!evaluates() || step == 0 || result_.state.evaluated_step == step) return false;
    if (step == plan_.total_steps) return true;
    return evaluations_until(step) > evaluations_until(step - 1);
  }

  int64_t evaluations_until(int64_t step) const {
    return berth::evaluations_until(parts_.options, plan_, step);
  }

  bool probe_due(int64_t step) const {
    return parts_.probes != nullptr && probe_rule_.due(step, result_.state.probed_step);
  }

  void probe_when_due() {
    if (probe_due(result_.state.step)) probe_unless_probed();
  }

  void probe_unless_probed() {
    TrainingState& state = result_.state;
    if (parts_.probes == nullptr || state.probed_step == state.step) return;
    const double began_s = steady_clock_s();
    const auto reports = parts_.probes->run(parts_.engine, state.step);
    if (!reports) stop();
    result_.probe_seconds += steady_clock_s() - began_s;
    state.probed_step = state.step;
    state.probes.insert(state.probes.end(), reports->begin(), reports->end());
    parts_.observer.on(ProbesDone{*reports});
  }

  // Evaluates on the labelled rows and on the retrieval set, of which there is at least one.
  std::optional<EvaluationResult> run_evaluation() {
    std::optional<EvaluationResult> rows, retrieval;
    if (parts_.eval_data != nullptr) {
      rows =
          evaluate(parts_.engine, *parts_.eval_data, parts_.options.examples_per_evaluation_batch(),
                   parts_.reading, parts_.observer, parts_.stop, parts_.ranks);
      if (!rows || parts_.retrieval == nullptr) return rows;
    }
    retrieval = evaluate_retrieval(parts_.engine, parts_.retrieval->set, parts_.retrieval->reading,
                                   parts_.observer, parts_.stop, parts_.ranks);
    if (!rows || !retrieval) return retrieval;
    return with_retrieval(std::move(*rows), std::move(*retrieval));
  }

  void evaluate_when_due() {
    if (!evaluation_due(result_.state.step)) return;
    const ProfileScope scope(profiler(), "evaluating");
    TrainingState& state = result_.state;
    const std::optional<EvaluationResult> evaluation = run_evaluation();
    if (!evaluation) stop();
    state.evaluated_step = state.step;
    result_.evaluation = evaluation;
    EvaluationReport report = report_of(*evaluation);
    report.step = state.step;
    report.epoch = epoch();
    report.split = parts_.eval_split;
    parts_.observer.on(report);
    if (auto better = best_rule_.better(*evaluation, state.step, state.best)) {
      state.best = std::move(better);
      saves_.save();  // The best checkpoint must exist.
    }
  }

  // Evaluates the final model. It is called if an earlier process made the last evaluation, and
  // after the best parameters were restored.
  void evaluate_final() {
    if (!evaluates()) return;
    result_.evaluation = run_evaluation();
    if (!result_.evaluation) stop();
  }

  // Until the process is ended by force; nullopt: not known.
  std::optional<double> time_left() const {
    const auto grace_s = static_cast<double>(parts_.options.grace_s);
    if (grace_s == 0) return std::nullopt;
    return grace_s - (parts_.since_stop ? parts_.since_stop() : 0);
  }

  // Saves and throws kStopped. Saves nothing if an update in flight diverges, because the process
  // that resumes meets its data again.
  [[noreturn]] void stop() {
    const bool is_whole = !collect(0);
    const int64_t step = result_.state.step;
    if (is_whole && !saves_.has_saved() && step > 0) saves_.save_within(time_left());
    saves_.finish();
    throw Error(Code::kStopped,
                cat("stopped by a signal after step ", step, " of ", plan_.total_steps),
                step > 0 ? parts_.checkpoints.step_directory(step).to_string() : "",
                "start it again with the same command to go on");
  }

  // Warns of an update that diverged. Throws kDiverged if too many have diverged.
  void diverged(const UpdateOutcome& outcome, int64_t examples, const SkippedData& bad) {
    const std::string what = cat("at step ", result_.state.step + 1, " the loss is ",
                                 mean_loss(outcome.loss_sum, outcome.examples),
                                 " and the gradient's norm ", outcome.grad_norm);
    const std::vector<SkippedData>& before = result_.state.skipped;
    if (before.size() == kMostRollbacks) {
      std::set<uint64_t> rows = rows_of(bad);
      for (const SkippedData& skipped : before) rows.merge(rows_of(skipped));
      saves_.end_together();
      const std::string look = cat("look for odd labels and weights in these rows (", listed(rows),
                                   "), which were left out or ended the job");
      throw Error(Code::kDiverged, what, "",
                  result_.state.step == 0
                      ? cat(look, ", and whether the model's own parameters are numbers")
                      : cat("lower --learning-rate, in a new --job-dir, or ", look));
    }
    log_warning(cat(what, ": going back to the last checkpoint or the start, and on without the ",
                    counted(examples, "example"), " of this update (", before.size() + 1,
                    " of at most ", kMostRollbacks, " times; rows ", listed(rows_of(bad)), ")"));
  }

  // The numbers in their source of the rows of this data. While the prefetcher reads features, only
  // constant data may be read, such as row numbers.
  std::set<uint64_t> rows_of(const SkippedData& data) {
    std::set<uint64_t> rows;
    int64_t left = parts_.train_data.size();
    for (DataCursor cursor = data.from; cursor != data.to && left > 0; --left) {
      const int64_t epoch = cursor.epoch;
      rows.insert(parts_.train_data.source_row(sampler_.next(cursor), epoch));
    }
    return rows;
  }

  static std::string listed(const std::set<uint64_t>& rows) {
    constexpr size_t kMostListed = 40;
    return joined_first(rows, kMostListed);
  }

  const TrainingParts& parts_;
  const Plan plan_;
  const Schedule schedule_;
  const BestRule best_rule_;
  const ProbeRule probe_rule_;
  Sampler sampler_;  // only used to find the cursor's place in its epoch
  UpdatePipeline updates_;
  int64_t begun_ = 0;  // updates of this process, for the profile
  double interval_loss_ = 0, interval_examples_ = 0;
  TrainResult result_;
  Saves saves_;  // borrows result_.state
};

}  // namespace

TrainResult train(const TrainingParts& parts, const Plan& plan, TrainingState state) {
  return Training(parts, plan, std::move(state)).run();
}

}  // namespace berth
