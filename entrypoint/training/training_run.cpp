#include "entrypoint/training/training_run.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/help.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/platform/stop_signals.h"
#include "entrypoint/platform/this_process.h"
#include "entrypoint/report/event_files.h"
#include "entrypoint/report/final_report.h"
#include "entrypoint/report/heartbeat.h"
#include "entrypoint/report/hypertune_file.h"
#include "entrypoint/report/mlflow/mlflow_run.h"
#include "entrypoint/report/profile_report.h"
#include "entrypoint/training/finished_job.h"
#include "entrypoint/training/training_plan.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/profiler.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "storage/whole_file.h"
#include "trainer/engine/device.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/probes.h"
#include "trainer/loop/results.h"
#include "trainer/loop/train.h"
#include "trainer/metrics/retrieval.h"
#include "trainer/model/task.h"
#include "trainer/model/training_flops.h"

namespace berth {
namespace {

// Records some updates of a training for --profile. When they are made, it writes a trace for
// Perfetto to `file` and logs the largest costs. Borrows the device and the storage, and must not
// outlive them.
class UpdateProfile {
 public:
  // `asked` updates, from the third one on, because the first ones warm up memory and caches. If a
  // process makes only `left` updates, it profiles the last ones. Both are above 0.
  UpdateProfile(Device& device, Storage& storage, Uri file, int64_t asked, int64_t left);
  ~UpdateProfile();
  UpdateProfile(const UpdateProfile&) = delete;
  UpdateProfile& operator=(const UpdateProfile&) = delete;

  const ProfileWindow& window() const { return window_; }

 private:
  void write();

  Device& device_;
  Storage& storage_;
  const Uri file_;
  Profiler profiler_;
  ProfileWindow window_;
};

constexpr int64_t kWarmUp = 2;

UpdateProfile::UpdateProfile(Device& device, Storage& storage, Uri file, int64_t asked,
                             int64_t left)
    : device_(device),
      storage_(storage),
      file_(std::move(file)),
      profiler_(device.info().threads),
      window_{.profiler = profiler_,
              .first = std::clamp<int64_t>(left - asked, 0, kWarmUp),
              .updates = std::min(asked, left),
              .when_recorded = [this] { write(); }} {
  device_.peak_flops();  // These two are measured before anything is recorded.
  device_.memory_levels();
  device_.set_profiler(&profiler_);
}

UpdateProfile::~UpdateProfile() { device_.set_profiler(nullptr); }

// The training is worth more than its profile, so a failure is a warning.
void UpdateProfile::write() {
  device_.set_profiler(nullptr);
  const MachineLimits limits{device_.peak_flops(), device_.memory_levels()};
  for (const std::string& line : profile_lines(profiler_, limits)) log_info(line);
  try {
    write_text(storage_, file_,
               as_text(perfetto_trace(profiler_, {.name = "berth", .pid = ::getpid()})));
    log_info(cat("the trace is in ", file_.to_string(), "; ui.perfetto.dev shows it"));
  } catch (const Error& error) {
    if (error.code() == Code::kInUse) throw;
    log_warning(cat("the profile could not be written: ", error.what()));
  }
}

constexpr double kStacks_s = 5;  // for the stacks of a job that hangs, which nobody may read

// The record of this job: a new job writes it, and a resumed one is compared with it.
JobRecord make_record(const Job& job, const TrainingInputs& inputs, const EngineInfo& engine) {
  const TrainingRows& rows = inputs.rows;
  JobRecord record{.settings = settings_table(job.command_line.settings),
                   .labels = rows.labels,
                   .task = std::string(task_name(rows.task)),
                   .max_seq_length = inputs.settings().data.max_seq_length,
                   .vector_size = inputs.model.config.vector_size,
                   .version = version_text(),
                   .machine = machine_description(),
                   .kernels = engine.description};
  const bool is_chosen = !job.command_line.settings.training.embedding_mini_batch_size.has_value();
  if (is_chosen) record.mini_batch = inputs.settings().training.embedding_mini_batch_size;
  add_reading(record, inputs);
  const auto add = [&record](const std::vector<Source>& sources) {
    record.sources.insert(record.sources.end(), sources.begin(), sources.end());
  };
  add(inputs.folder->sources());
  if (inputs.retrieval) add(inputs.retrieval->sources());
  if (inputs.generator) add(inputs.generator->sources());
  if (inputs.teacher) add(inputs.teacher->sources());
  return record;
}

// Whether the kernels of this description multiply bf16: "cpu-bf16-avx512, OpenBLAS Zen, 2
// threads".
bool multiply_bf16(std::string_view kernels) {
  return kernels.substr(0, kernels.find(',')).find("-bf16") != kernels.npos;
}

void log_trained_parameters(const LoraOptions& lora, std::span<const ParameterSpec> specs) {
  if (!lora) return;
  int64_t learning = 0;
  for (const ParameterSpec& spec : specs) learning += spec.trains ? spec.elements() : 0;
  log_info(cat("LoRA of rank ", lora.rank, ": ", learning, " of ", total_elements(specs),
               " parameters learn"));
}

EngineOptions engine_options(const Job& job, const TrainingInputs& inputs,
                             const TrainingPlan& plan) {
  EngineOptions options =
      training_engine(inputs.settings(), inputs.model.config, plan.data.most_examples);
  options.ranks.communicator = job.ranks;
  if (traits(inputs.rows.task).labels == LabelKind::kSet) {
    options.loss.positive_weights = inputs.rows.class_weights;
  }
  return options;
}

// Throws kIncompatible where a worker has read other data or plans other updates than this one.
void require_same_job(Communicator& ranks, const TrainingInputs& inputs, const TrainingPlan& plan) {
  JobRecord read{.sources = inputs.rows.train.sources, .labels = inputs.rows.labels};
  if (inputs.rows.eval) {
    const std::vector<Source>& sources = inputs.rows.eval->sources;
    read.sources.insert(read.sources.end(), sources.begin(), sources.end());
  }
  if (inputs.retrieval) {
    const std::vector<Source>& sources = inputs.retrieval->sources();
    read.sources.insert(read.sources.end(), sources.begin(), sources.end());
  }
  const std::string teacher = inputs.teacher ? inputs.teacher->description() : "";
  require_same_on_workers(ranks,
                          cat(job_identity(read), " ", plan.updates.total_steps, " ", teacher));
}

TrainingFlops flops_of(const EngineOptions& options) {
  return training_flops(options.config, options.lora, options.optimizer.first_depth);
}

// The settings that people vary, and all others that are not their defaults. Places, of which each
// job has its own, are none of them.
std::vector<HParam> hparams_of(const JobRecord& record) {
  std::map<std::string, std::string> defaults;
  for (const Setting& preset : settings_table(Settings())) defaults[preset.name] = preset.value;
  std::vector<HParam> hparams;
  for (const Setting& setting : record.settings) {
    const std::string &name = setting.name, &value = setting.value;
    const bool is_other = defaults[name] != value && !setting.has(kNoHparam);
    if (!is_other && !setting.has(kVaried)) continue;
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value == "true" || value == "false") {
      hparams.emplace_back(name, value == "true");
    } else if (!value.empty() && *end == '\0') {
      hparams.emplace_back(name, number);
    } else {
      hparams.emplace_back(name, value);
    }
  }
  return hparams;
}

// Throws kIncompatible where evaluations would compare texts in batches of another size than
// before, and the best of all evaluations counts.
void require_batches_of(const EarlierJob& begun, const CommandLine& line,
                        const ModelConfig& config) {
  const TrainingOptions& options = line.settings.training;
  const bool heeds_best = options.early_stopping_patience > 0 || options.load_best_model_at_end;
  if (!heeds_best || traits(config.task).labels != LabelKind::kPlaceInBatch) return;
  for (const Flag& flag : flag_table()) {
    const std::string before = begun.setting(flag.name), now = flag.value.get(line);
    const bool may_change = flag.role.effect_in(line.settings) == Effect::kFree;
    if (!may_change || !flag.role.has(kAsBatched) || before.empty() || before == now) continue;
    throw Error(Code::kIncompatible,
                cat("was ", before, " and is now ", now,
                    ", and evaluations with batches of other sizes do not show which one is the "
                    "best"),
                cat("--", flag.name), "repeat the command of the job, or use another --job-dir");
  }
}

// The settings as Markdown, for the Text tab of TensorBoard.
std::string settings_markdown(const JobRecord& record) {
  std::string table = "| flag | value |\n| --- | --- |\n";
  for (const Setting& setting : record.settings) {
    table += cat("| ", setting.name, " | ", setting.value, " |\n");
  }
  return table;
}

}  // namespace

TrainingRun::TrainingRun(Job& job, const JobDirectory& directory, TrainingInputs& inputs,
                         const TrainingPlan& plan, Device& device)
    : job_(job),
      directory_(directory),
      inputs_(inputs),
      plan_(plan),
      device_(device),
      locks_(job.has_leases ? nullptr
                            : std::make_unique<const OutputLocks>(directory, job.fences, job.stop)),
      heartbeat_(job.output, job.storage,
                 {.file = directory.heartbeat(),
                  .host = host_name(),
                  .pid = ::getpid(),
                  .process = process_identity(),
                  .usage = usage_of_this_process()}),
      engine_(device.make_engine(engine_options(job, inputs, plan))),
      checkpoints_(job.storage, room_options(directory, plan.options),
                   plan.options.save_total_limit, plan.memory.saves, plan.memory.most_copied,
                   job.ranks) {
  if (job.ranks != nullptr) require_same_job(*job.ranks, inputs, plan);
  log_trained_parameters(plan.options.optimization.lora,
                         engine_->tensors(StateTensors::kValues).specs());
  state_ = restore();
  if (state_.step == 0) {
    fill(engine_->tensors(StateTensors::kValues));
    engine_->tensors_written();
  } else if (leads() && inputs.settings().model.init == Init::kPretrained) {
    // Reads the model's file even if a checkpoint is restored, because the record has its checksum.
    if (const auto file = inputs.folder->parameters()) file->verify();
    if (inputs.generator) {
      if (const auto file = inputs.generator->parameters()) file->verify();
    }
  }
  complete_record();
}

// Restores the engine from the newest checkpoint and returns its state. Without a checkpoint,
// returns the state of a new job.
TrainingState TrainingRun::restore() {
  Sampler sampler = make_sampler(plan_.rows, batch_options(plan_.options, {}));
  std::optional<TrainingState> state = checkpoints_.restore(
      *engine_, [&](const TrainingState& found) { return has_places(found, sampler); });
  if (!state) return {};
  const std::string where = checkpoints_.step_directory(state->step).to_string();
  job_.progress.set_step(state->step);
  job_.progress.set_checkpoint(where);
  heartbeat_.set_checkpoint(state->step, where);
  log_info(cat("resuming after update ", state->step, " from ", where));
  const std::string& kernels = engine_->info().description;
  if (state->kernels != kernels) {
    const bool is_bf16 = engine_->info().precision == Precision::kBf16;
    log_warning(cat("the checkpoint was computed with ", state->kernels, " and this job uses ",
                    kernels, ": the results will not be the same bit for bit",
                    is_bf16 == multiply_bf16(state->kernels) ? ""
                    : is_bf16 ? ". From here on, matrix products use bf16"
                              : ". From here on, matrix products use fp32"));
  }
  return std::move(*state);
}

void TrainingRun::fill(ParameterTensors& values) {
  if (leads()) fill_from_model(values);
  if (job_.ranks != nullptr) share_tensors(*job_.ranks, values);
}

void TrainingRun::fill_from_model(ParameterTensors& values) {
  const Settings& settings = inputs_.settings();
  fill_parameters(*inputs_.folder, settings.model, inputs_.model.config, settings.training.seed,
                  compute_threads(settings), values);
  if (inputs_.generator) {
    fill_generator(*inputs_.generator, inputs_.model.config, compute_threads(settings), values);
  }
}

// Throws kIncompatible if the checkpoints or job.json belong to another job. Writes job.json if
// there is none, or if the job has another length now. Old results are removed first: they would
// say that this job is finished.
void TrainingRun::complete_record() {
  record_ = make_record(job_, inputs_, engine_->info());
  const std::optional<std::string> existing = read_text(job_.storage, directory_.record());
  if (existing) record_ = with_tokenizer_files_of(*existing, record_);
  if (!leads()) return;  // worker 0 has compared
  if (existing) {
    try {
      check_sources_match(*existing, record_);
    } catch (const Error& error) {
      throw error.at(directory_.root().to_string());
    }
  }
  const auto was_written_by = [this](const JobRecord& record) {
    return state_.job == job_identity(record) ||
           state_.job == job_identity(record, IdentityOf::kOneLength);
  };
  bool is_ours = state_.job.empty() || was_written_by(record_);
  if (existing && !is_ours) {  // an earlier version of this program may have left it
    const JobRecord known = as_known_to(*existing, record_, unnamed_settings());
    is_ours = was_written_by(known) || was_written_by(with_length_of(*existing, record_)) ||
              was_written_by(with_length_of(*existing, known));
  }
  if (!is_ours) {
    throw Error(Code::kIncompatible, "the checkpoints belong to another job",
                directory_.checkpoints().to_string(),
                "use another --checkpoint-dir, or repeat the command of that job to resume it");
  }
  state_.job = job_identity(record_);
  if (!existing) {
    job_.storage.remove(directory_.metrics());
    return write_text(job_.storage, directory_.record(), to_json(record_));
  }
  const EarlierJob begun(directory_.root(), *existing);
  if (state_.best) require_batches_of(begun, job_.command_line, inputs_.model.config);
  if (!has_length_of(*existing, record_)) return change_length();
  if (begun.mini_batch().value_or(0) != record_.mini_batch.value_or(0)) {
    write_text(job_.storage, directory_.record(), to_json(record_));
  }
}

// Records the new number of updates.
void TrainingRun::change_length() {
  const int64_t total = plan_.updates.total_steps;
  if (total < state_.step) {
    throw Error(Code::kIncompatible,
                cat("the job has made ", state_.step, " updates, and the command now has ", total),
                directory_.root().to_string(),
                "give a larger --epochs or --max-steps, or use another --job-dir");
  }
  log_info(cat("the job has another length now: ", total, " updates, of which ", state_.step,
               " are done. The learning rate follows the schedule of the new length"));
  job_.storage.remove(directory_.metrics());
  write_text(job_.storage, directory_.record(), to_json(record_));
}

void TrainingRun::add_observers() {
  auto events =
      std::make_unique<EventFiles>(job_.storage, directory_.summaries(),
                                   EventFileOptions{.writer = process_name(),
                                                    .settings = settings_markdown(record_),
                                                    .hparams = hparams_of(record_)});
  events->restore(state_.probes);
  job_.output.add(std::move(events));
  if (job_.command_line.log_histograms) {
    job_.output.add(std::make_unique<HistogramEvents>(job_.storage, directory_.summaries(),
                                                      process_name(),
                                                      engine_->tensors(StateTensors::kValues)));
  }
  add_mlflow();
  add_report();
  if (plan_.hypertune_metric.empty()) return;
  job_.output.add(
      std::make_unique<HypertuneFile>(job_.command_line.tuning, plan_.hypertune_metric));
}

// A run inside a job, such as a probe's, is no run of its own there.
void TrainingRun::add_mlflow() {
  const MlflowOptions& server = job_.command_line.mlflow;
  if (server.tracking_uri.empty() || job_.command_line.parent_process > 0) return;
  if (!is_tracking_server(server.tracking_uri)) {
    log_warning(cat("MLFLOW_TRACKING_URI is ", quoted(server.tracking_uri),
                    ", and berth reaches http:// and https:// only: no metrics are sent"));
    return;
  }
  job_.output.add(std::make_unique<MlflowRun>(
      job_.storage, MlflowRunOptions{.server = server,
                                     .authorities = job_.command_line.storage.http.authorities,
                                     .name = directory_.root().file_name(),
                                     .file = directory_.mlflow(),
                                     .parameters = record_.settings}));
}

// A run inside a job, such as a probe's, is for that job and not for people.
void TrainingRun::add_report() {
  if (!inputs_.settings().output.report || job_.command_line.parent_process > 0) return;
  auto report = std::make_unique<HtmlReport>(
      job_.storage, HtmlReportOptions{.file = directory_.report(),
                                      .facts = {.name = directory_.root().file_name(),
                                                .task = inputs_.rows.task,
                                                .record = record_,
                                                .defaults = settings_table(Settings()),
                                                .eval_split = inputs_.eval_split(),
                                                .lengths = plan_.lengths},
                                      .metric = plan_.options.metric_for_best_model,
                                      .probes = state_.probes,
                                      .save_steps = plan_.options.save_steps});
  report_ = report.get();
  job_.output.add(std::move(report));
}

// Ends the process where the training hangs, with what each thread does in the log.
void TrainingRun::end_hung(double silent_s) const {
  run_within(kStacks_s, [] { write_thread_stacks(STDERR_FILENO); });
  job_.end_process(Error(Code::kHung,
                         cat("the training gave no sign of life for ", std::lround(silent_s),
                             " s, which is longer than --step-timeout"),
                         "",
                         "start it again, and it resumes from its last checkpoint; if an update "
                         "takes this long, give a longer --step-timeout"));
}

// Probes may use what the training leaves of the host's memory.
void TrainingRun::begin_probes(Observer& observer) {
  if (!inputs_.probes) return;
  const std::optional<MemoryLimit>& limit = plan_.limits.host;
  const size_t others = plan_.memory.on_host_yet() - plan_.memory.probe;
  inputs_.probes->begin(inputs_.model, limit ? limit->size_bytes - others : 0, directory_.probes(),
                        observer);
}

std::optional<RetrievalEvaluation> TrainingRun::retrieval_evaluation() const {
  if (!inputs_.retrieval) return std::nullopt;
  const BatchLimits limits = engine_options(job_, inputs_, plan_).limits;
  return RetrievalEvaluation{
      .set = *inputs_.retrieval,
      .reading = retrieval_reading(inputs_.model, inputs_.settings(), limits, *inputs_.retrieval)};
}

TrainResult TrainingRun::train(TrainingData& data) {
  add_observers();
  JobReport report = plan_.report;
  report.first_step = state_.step;
  heartbeat_.on(report);
  job_.saves_on_stop = true;
  std::optional<Watchdog> watchdog;
  if (plan_.options.step_timeout_s > 0) {
    watchdog.emplace(heartbeat_, static_cast<double>(plan_.options.step_timeout_s),
                     [this](double silent_s) { end_hung(silent_s); });
  }
  Observer& observer = watchdog ? static_cast<Observer&>(*watchdog) : heartbeat_;
  begin_probes(observer);
  std::optional<UpdateProfile> profile;
  const int64_t left = plan_.updates.total_steps - state_.step;
  if (job_.command_line.profiled_updates > 0 && left > 0) {
    profile.emplace(device_, job_.storage, directory_.profile(), job_.command_line.profiled_updates,
                    left);
  }
  const ReadingOptions reading = inputs_.reading();
  const std::optional<RetrievalEvaluation> retrieval = retrieval_evaluation();
  const TrainingParts parts{
      .options = plan_.options,
      .engine = *engine_,
      .train_data = data.train(),
      .eval_data = data.eval() ? &*data.eval() : nullptr,
      .reading = reading,
      .metrics = plan_.metrics,
      .eval_split = inputs_.eval_split(),
      .checkpoints = checkpoints_,
      .observer = observer,
      .stop = job_.stop,
      .since_stop = job_.since_stop,
      .fill_parameters = [this](ParameterTensors& values) { fill(values); },
      .flops = flops_of(
          training_engine(inputs_.settings(), inputs_.model.config, plan_.data.most_examples)),
      .device = &device_,
      .retrieval = retrieval ? &*retrieval : nullptr,
      .probes = inputs_.probes.get(),
      .profile = profile ? &profile->window() : nullptr,
      .probe_options = inputs_.settings().probes,
      .ranks = job_.ranks};
  try {
    TrainResult result = berth::train(parts, plan_.updates, std::move(state_));
    job_.saves_on_stop = false;  // the last checkpoint is complete
    if (report_ != nullptr && result.evaluation) {
      report_->set_result(*result.evaluation, result.state.step);
    }
    if (leads()) keep_record();
    return result;
  } catch (...) {
    const FinalReport how = failure_report(std::current_exception(), job_.progress);
    if (how.code == exit_code(Code::kUnavailable)) job_.fences.begin_last_acts();
    if (report_ != nullptr) report_->ended(how);
    throw;
  }
}

// Without job.json, nothing could be done with the results of a job whose directory was removed
// while it ran.
void TrainingRun::keep_record() {
  if (job_.storage.stat(directory_.record())) return;
  write_text(job_.storage, directory_.record(), to_json(record_));
  log_warning(cat(directory_.record().to_string(),
                  ": was removed while the job ran; it was written again, and the event files and "
                  "checkpoints until then may be gone"));
}

namespace {

// Evaluates the trained model on MNLI's second set.
EvaluationResult evaluate_mismatched(Job& job, const TrainingInputs& inputs, Engine& engine) {
  const Settings& settings = inputs.settings();
  const TrainingRows& rows = inputs.rows;
  const LabelledData examples(*rows.mismatched, rows.task, rows.labels, /*wants_labels=*/true,
                              settings, *inputs.model.tokenizer);
  Dataset data = examples.rows_to_evaluate();
  const std::optional<EvaluationResult> result =
      evaluate(engine, data, settings.training.examples_per_evaluation_batch(), inputs.reading(),
               job.output, job.stop);
  job.stop_point();
  return *result;
}

std::string four_digits(double value) { return formatted("%.4f", value); }

// Logs the metric that decides which model is the best. Does nothing if that is the loss, which the
// evaluation has already shown.
void log_result(const EvaluationResult& evaluation, const std::string& metric,
                const std::string& split) {
  const TaskScores& scores = evaluation.scores;
  if (!scores.metrics.contains(metric)) return;
  const std::string value = cat(metric, " ", four_digits(scores.metrics.at(metric)));
  const bool is_noted = metric.find("_at_") != std::string::npos;
  const auto is_there = [&](const std::string& name) { return scores.metrics.contains(name); };
  if (is_noted && std::ranges::all_of(RetrievalMetrics::names(), is_there)) {
    return log_info(cat("retrieval ", value, " ", scores.note));
  }
  std::string line = cat(split == "validation" ? "held-out" : "evaluation", " ", value);
  if (is_noted) line += cat(" ", scores.note);
  if (scores.majority_rate) {
    line += cat(" (majority class ", four_digits(*scores.majority_rate), ")");
  }
  log_info(cat(line, " over ", counted(evaluation.examples, "example")));
}

// Logs the thresholds that the evaluation has chosen.
void log_thresholds(const TaskScores& scores, const DataOptions& data) {
  if (!chooses_thresholds(data) || scores.label_thresholds.empty()) return;
  if (data.label_threshold == kBestThreshold) {
    return log_info(cat("labels are predicted above the probability ",
                        four_digits(scores.label_thresholds.front()),
                        ", which these rows have chosen"));
  }
  constexpr size_t kMostNamed = 10;
  const size_t labels = scores.label_thresholds.size();
  std::string text;
  for (size_t i = 0; i < std::min(kMostNamed, labels); ++i) {
    text += cat(i == 0 ? "" : ", ", quoted(scores.classes[i].name), " ",
                four_digits(scores.label_thresholds[i]));
  }
  if (labels > kMostNamed) text += cat(" and ", labels - kMostNamed, " others");
  log_info(cat("each label is predicted above a probability that these rows have chosen: ", text));
}

// Logs what the probes found at first and at last, and what they cost.
void log_probes(const TrainResult& result) {
  for (const std::string& summary : probe_summaries(result.state.probes)) log_info(summary);
  if (result.probe_seconds == 0) return;
  log_info(formatted("probes took %.1f s, %.1f %% of the training's time", result.probe_seconds,
                     100 * probe_share(result)));
}

}  // namespace

void write_results(Job& job, const JobDirectory& directory, const TrainingInputs& inputs,
                   const TrainingPlan& plan, TrainingRun& run, const TrainResult& result) {
  Engine& engine = run.engine();
  JobMetrics metrics{.result = result,
                     .evaluation = result.evaluation,
                     .task = inputs.rows.task,
                     .precision = engine.info().precision,
                     .kernels = engine.info().description,
                     .dataset = evaluated_file(job.command_line.settings.data),
                     .base_model = local_or_hub_name(job.command_line.settings.model.model)};
  if (inputs.rows.mismatched) {
    metrics.mismatched = evaluate_mismatched(job, inputs, engine);
    EvaluationReport report = report_of(*metrics.mismatched);
    report.step = result.state.step;
    job.output.on(SecondEvaluation{std::move(report)});
  }
  if (plan.options.keeps_weights) {
    run.room().write(directory.model(), plan.disk.use.model_bytes, result.state.step, [&] {
      export_results(job.storage, inputs.settings(), directory.model(), inputs.model,
                     engine.tensors(StateTensors::kValues), metrics);
    });
    metrics.model_bytes = model_bytes(job.storage, directory.model());
  }
  job.output.on(JobFinished{});
  if (result.evaluation) {
    log_result(*result.evaluation, plan.options.metric_for_best_model, inputs.eval_split());
    log_thresholds(result.evaluation->scores, inputs.settings().data);
  }
  log_probes(result);
  // Workers that were stopped have left it, before one process went on.
  if (job.ranks == nullptr) job.storage.remove(directory.rendezvous());
  run.room().write(directory.metrics(), 0, result.state.step,
                   [&] { write_text(job.storage, directory.metrics(), to_json(metrics)); });
  if (inputs.teacher) remove_saved_tensors(job.storage, directory.teacher());
  if (plan.options.keeps_weights) {
    job.progress.set_results(
        training_results(job.command_line, job.storage, directory, inputs.rows.task));
  }
}

}  // namespace berth
