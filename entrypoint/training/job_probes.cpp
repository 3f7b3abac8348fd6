#include "entrypoint/training/job_probes.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/probe_list.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/resolve_settings.h"
#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/open_storage.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

constexpr int64_t kProbeBatchSize = 16, kProbeEpochs = 3;
constexpr double kMostHeldOut = 0.2;

// The part of the fine-tuning's command line that does not depend on the rows.
CommandLine command_of(const CommandLine& job, const Settings& settings, const ProbeFile& file,
                       const ProbePlaces& places) {
  CommandLine command;
  command.log_format = "json";
  command.highest_instruction_set = job.highest_instruction_set;
  command.storage = job.storage;
  if (command.storage.cache_dir.empty()) command.storage.cache_dir = places.cache.string();
  Settings& own = command.settings;
  own.data.task = file.task;
  own.data.train_data_file = file.file;
  own.data.validation_split = kMostHeldOut;
  own.data.max_train_samples = settings.probes.samples;
  own.data.max_seq_length = settings.data.max_seq_length;
  own.model.model = places.model.string();
  own.training.batch_size = kProbeBatchSize;
  own.training.save_steps = 0;
  own.training.keeps_weights = false;
  own.output.job_dir = places.job.string();
  own.device = DeviceKind::kCpu;
  own.precision = settings.precision;
  own.threads = compute_threads(settings);
  return command;
}

// The rows to score: held-out ones, about as many as train, where there are as many.
double held_out_fraction(size_t rows, int64_t samples) {
  return std::min(kMostHeldOut, static_cast<double>(samples) / static_cast<double>(rows));
}

// Measures the rows that the fine-tuning uses, and makes the features of some. `held_out` may hold
// more rows than it will score.
DataMemory memory_of(const TrainingRows& rows, const Settings& settings, int64_t scored,
                     const Tokenizer& tokenizer) {
  const LabelledData examples(rows.train, rows.task, rows.labels, /*wants_labels=*/true, settings,
                              tokenizer);
  std::vector<uint32_t> held_out = rows.split.held_out;
  held_out.resize(std::min(held_out.size(), static_cast<size_t>(scored)));
  Dataset train = examples.rows(rows.split.train);
  std::optional<Dataset> eval = examples.rows(held_out);
  return data_memory(/*program=*/0, rows, train, eval);
}

ProbePlan plan(Storage& storage, CommandLine command, int64_t samples,
               const ModelDescription& model) {
  const DataPaths paths(storage);
  ResolvedJob resolved = resolve_settings(paths, command);
  expect_tokenizer(*model.tokenizer, resolved.sources);
  const TrainingRows rows =
      load_training_rows(paths, resolved.settings, resolved.sources, model.config);
  if (rows.split.held_out.empty() || rows.split.train.empty()) {
    throw Error(Code::kBadData, "the rows are too few to hold some out", rows.train.name);
  }
  const double fraction = held_out_fraction(rows.train.table->rows(), samples);
  ProbePlan plan;
  ProbeFacts& facts = plan.facts;
  facts.task = std::string(task_name(rows.task));
  facts.train_examples = static_cast<int64_t>(rows.split.train.size());
  facts.scored_examples = std::min<int64_t>(samples, std::ssize(rows.split.held_out));
  facts.updates = kProbeEpochs * ((facts.train_examples + kProbeBatchSize - 1) / kProbeBatchSize);
  plan.metric = resolved.sources.metric;
  if (plan.metric.empty()) plan.metric = metric_names(rows.task, std::ssize(rows.labels)).front();
  plan.config = model.config;
  plan.config.task = rows.task;
  plan.config.labels = rows.labels;
  settle_groups(rows.train, resolved.settings, plan.config);
  plan.memory = memory_of(rows, resolved.settings, facts.scored_examples, *model.tokenizer);
  command.settings.data.validation_split = fraction;
  command.settings.training.max_steps = facts.updates;
  command.settings.training.eval_steps = facts.updates;
  plan.command = std::move(command);
  return plan;
}

// Reads the rows of `file` as the fine-tuning will, and plans it. The fine-tuning has its own seed,
// and the learning rate that suits the model's width. It has three epochs of at most
// --probe-samples rows, in updates of 16. It runs on the CPU's kernels, whatever the job's device,
// and scores held-out rows once, at its end. `job` is the command line of the pre-training,
// `settings` are its resolved settings, and `model` is its model. Throws kBadData where the rows
// have no labels or are too few, and what the readers throw. Errors name the probe.
ProbePlan plan_probe(Storage& storage, const CommandLine& job, const Settings& settings,
                     const ModelDescription& model, const ProbeFile& file,
                     const ProbePlaces& places) {
  try {
    ProbePlan planned =
        plan(storage, command_of(job, settings, file, places), settings.probes.samples, model);
    planned.facts.name = file.name;
    return planned;
  } catch (const Error& error) {
    throw error.at("--probe " + file.name);
  }
}

// The memory that the fine-tuning needs in all. `device` stands for the CPU's kernels, and
// `program_bytes` is the memory of this process without rows.
size_t probe_memory(const ProbePlan& plan, size_t program_bytes, Device& device) {
  DataMemory data = plan.memory;
  data.program = program_bytes;
  return training_memory(plan.command.settings, plan.config, data, /*limits=*/{}, device).on_host();
}

namespace fs = std::filesystem;

std::unique_ptr<Storage> storage_with_cache(const Job& job, const ProbePlaces& places) {
  StorageOptions options = job.command_line.storage;
  if (options.cache_dir.empty()) options.cache_dir = places.cache.string();
  const auto gives_up = [&stop = job.stop] { return stop.load(); };
  options.http.gives_up = gives_up;
  options.retry.gives_up = gives_up;
  return open_storage(options);
}

// The last line that a failed process printed says why, as main() writes it. Otherwise, "exit code
// 1" or "killed by signal 9".
std::string problem_of(const ProcessEnd& end, const std::string& log) {
  if (end.signal != 0) {
    return cat("was killed by signal ", end.signal,
               end.signal == SIGKILL ? ", perhaps because memory ran out" : "");
  }
  const std::string_view text = trimmed(log);
  const Json parsed = parse_json(text.substr(text.rfind('\n') + 1));
  const JsonObject report(parsed);
  std::string problem = cat("exit code ", end.exit_code);
  for (const char* part : {"where", "what", "hint"}) {
    const std::string said = report.text(part).value_or("");
    if (!said.empty()) problem += ": " + said;
  }
  return problem;
}

void discard(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

JobProbes::JobProbes(const Job& job, const Settings& settings, const ModelDescription& model)
    : job_(job),
      settings_(settings),
      directory_("probe"),
      places_(directory_.path()),
      storage_(storage_with_cache(job, places_)) {
  Settings own = settings;
  own.precision = host_precision(job);
  for (const ProbeFile& file : parse_probes(settings.probes.files)) {
    plans_.push_back(plan_probe(*storage_, job.command_line, own, model, file, places_));
    job.stop_point();
  }
}

std::vector<ProbeFacts> JobProbes::facts() const {
  std::vector<ProbeFacts> facts;
  for (const ProbePlan& plan : plans_) facts.push_back(plan.facts);
  return facts;
}

size_t JobProbes::memory_bytes(size_t program_bytes, Device& device) const {
  size_t most = 0;
  for (const ProbePlan& plan : plans_) {
    most = std::max(most, probe_memory(plan, program_bytes, device));
  }
  return most;
}

void JobProbes::begin(const ModelDescription& model, uint64_t memory_bytes, const Uri& logs,
                      Observer& observer) {
  model_ = &model;
  observer_ = &observer;
  logs_ = logs;
  for (ProbePlan& plan : plans_) plan.command.memory_limit = static_cast<int64_t>(memory_bytes);
}

std::optional<std::vector<ProbeReport>> JobProbes::run(const Engine& engine, int64_t step) {
  std::vector<ProbeReport> reports;
  try {
    export_encoder(engine);
    for (const ProbePlan& plan : plans_) {
      observer_->on(ProbeBegins{plan.facts.name});
      if (auto report = run(plan, step)) reports.push_back(std::move(*report));
      if (job_.stop) return std::nullopt;
    }
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) throw;
    if (job_.stop) return std::nullopt;
    log_warning(cat("step ", step, " could not be probed: ", error.what(), "; training goes on"));
  }
  discard(places_.model);
  return reports;
}

// Writes the encoder as it is, with adapters merged into it.
void JobProbes::export_encoder(const Engine& engine) {
  Settings plain;
  plain.training.optimization.lora = settings_.training.optimization.lora;
  export_results(*storage_, plain, Uri::parse(places_.model.string()), *model_,
                 engine.tensors(StateTensors::kValues),
                 {.result = {}, .evaluation = {}, .kernels = ""});
}

// Returns nullopt, after a warning, where the fine-tuning fails; without one where it is stopped.
std::optional<ProbeReport> JobProbes::run(const ProbePlan& plan, int64_t step) {
  const double began_s = steady_clock_s();
  std::error_code ignored;  // the process says what is wrong
  fs::create_directories(places_.temporary, ignored);
  const std::optional<ProcessEnd> end =
      run_self(to_arguments(plan.command), places_.log, places_.temporary, job_.stop);
  std::optional<ProbeReport> report;
  if (end && end->exit_code == 0) {
    report = report_of(plan, step);
    if (!report) warn(plan, step, "there are no scores");
  } else if (end) {
    warn(plan, step,
         problem_of(*end, read_text(*storage_, Uri::parse(places_.log.string())).value_or("")));
  }
  discard(places_.job);
  discard(places_.temporary);
  if (report) report->seconds = steady_clock_s() - began_s;
  return report;
}

// The scores in metrics.json of the fine-tuning. nullopt if it has no finite main score.
std::optional<ProbeReport> JobProbes::report_of(const ProbePlan& plan, int64_t step) {
  const JobDirectory directory(Uri::parse(places_.job.string()));
  const Json metrics = parse_json(read_text(*storage_, directory.metrics()).value_or(""));
  const JsonObject eval = JsonObject(metrics).within("eval");
  if (!eval.is_there()) return std::nullopt;
  ProbeReport report{
      .step = step, .name = plan.facts.name, .metric = plan.metric, .metrics = eval.all_numbers()};
  const auto take = [&report](const char* name) {
    const auto node = report.metrics.extract(name);
    return node ? node.mapped() : 0.0;
  };
  report.loss = take("loss");
  constexpr double kMostExamples = 1e15;
  report.examples = static_cast<int64_t>(std::clamp(take("examples"), 0.0, kMostExamples));
  if (!report.metrics.contains(report.metric)) return std::nullopt;
  return report;
}

void JobProbes::warn(const ProbePlan& plan, int64_t step, const std::string& problem) {
  const std::string name =
      formatted("step-%08lld-%.64s.log", static_cast<long long>(step), plan.facts.name.c_str());
  std::string kept;
  try {
    const auto log = read_text(*storage_, Uri::parse(places_.log.string()));
    if (log) {
      write_text(job_.storage, logs_ / name, *log);
      kept = "; its log is " + (logs_ / name).to_string();
    }
  } catch (const Error& error) {
    log_debug(cat("the log of a probe was not kept: ", error.what()));
  }
  log_warning(cat("probe ", plan.facts.name, " failed at step ", step, ": ", problem, kept,
                  "; training goes on"));
}

}  // namespace berth
