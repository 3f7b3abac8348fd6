#include "entrypoint/training/training_plan.h"

#include <algorithm>
#include <utility>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/report/dry_run.h"
#include "entrypoint/report/hypertune_file.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "trainer/distributed/communicator.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/loop/saves.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// `options` with the metric that decides which model is the best. The flag's metric comes before
// the benchmark's, and that before the task's main metric.
TrainingOptions with_best_metric(TrainingOptions options, const DataSources& sources,
                                 const std::string& main_metric) {
  if (!options.metric_for_best_model.empty()) return options;
  options.metric_for_best_model = sources.metric.empty() ? main_metric : sources.metric;
  return options;
}

// Fills in the options and the metrics of `plan`. Throws kUsage if a flag names a metric that the
// task does not have. It does so before the job directory is touched.
void choose_metrics(const Job& job, const TrainingInputs& inputs, bool has_rows,
                    TrainingPlan& plan) {
  const TrainingRows& rows = inputs.rows;
  const bool has_set = inputs.retrieval != nullptr;
  plan.metrics = evaluated_metrics(rows.eval_task(), std::ssize(rows.labels), has_rows, has_set);
  plan.options =
      with_best_metric(inputs.settings().training, inputs.resolved.sources, plan.metrics.front());
  BestRule(plan.options, plan.metrics);  // throws on an unknown metric
  const auto require_loss = [&](const std::string& metric, const char* flag) {
    if (has_rows || !has_set || !metric.ends_with(kLossName)) return;
    throw Error(Code::kUsage, "a search has no loss", flag,
                "name another metric, or give rows to evaluate on");
  };
  require_loss(plan.options.metric_for_best_model, "--metric-for-best-model");
  if (!job.command_line.is_tuned()) return;
  plan.hypertune_metric =
      hypertune_metric(job.command_line.tuning, inputs.settings().output.hypertune_metric,
                       plan.options.metric_for_best_model, plan.metrics);
  require_loss(plan.hypertune_metric, "--hypertune-metric");
}

// What the learning rate was chosen for, if the program chose it and the width is not all that
// says.
std::string learning_rate_is_for(const Job& job, const TrainingInputs& inputs) {
  const bool is_given = job.command_line.settings.training.optimization.learning_rate.has_value();
  if (is_given || !inputs.pretrains_from_random()) return "";
  return cat("random parameters ", inputs.model.config.hidden_size, " wide");
}

JobReport make_report(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                      const Plan& updates, const Device& device) {
  const Settings& settings = inputs.settings();
  const LoraOptions& lora = settings.training.optimization.lora;
  return {.train_examples = data.train().size(),
          .eval_examples = data.eval() ? data.eval()->size() : 0,
          .parameters = total_elements(parameter_table(inputs.model.config, lora)),
          .total_steps = updates.total_steps,
          .batch_size = settings.training.batch_size,
          .token_budget = settings.training.token_budget,
          .sizes_differ = settings.training.sampler == BatchSampler::kNoDuplicates,
          .num_labels = static_cast<int64_t>(inputs.rows.labels.size()),
          .epochs = updates.epochs,
          .peak_learning_rate = settings.training.optimization.learning_rate.value(),
          .learning_rate_is_for = learning_rate_is_for(job, inputs),
          .kernels = device.info().description};
}

// Fills in the lengths of the texts. Warns where many are cut or unknown to the vocabulary.
void survey(const TrainingInputs& inputs, TrainingData& data, TrainingPlan& plan) {
  const TrainingRows& rows = inputs.rows;
  const TokenSurvey found = survey_tokens(rows.train, rows.task, rows.labels, inputs.settings(),
                                          *inputs.model.tokenizer, rows.split.train);
  plan.lengths = become_windows(rows.task)
                     ? window_lengths(data.train(), found.lengths.max_seq_length)
                     : found.lengths;
  plan.report.cut_texts = cut_texts(found, inputs.model.config.max_sequence_length());
  warn_of_tokens(rows.train.name, {plan.report.cut_texts, unknown_texts(found)});
}

// Shows the first rows in the log, and keeps them for --dry-run and the report. A probe's rows are
// not of the job.
void preview(const Job& job, const TrainingInputs& inputs, TrainingData& data, TrainingPlan& plan) {
  const CommandLine& asked = job.command_line;
  if (!asked.row_preview || asked.parent_process > 0 || !job.leads()) return;
  const TrainingRows& rows = inputs.rows;
  plan.report.rows = preview_rows(rows.train, data.train(), rows.labels, inputs.settings(),
                                  *inputs.model.tokenizer);
  for (const ShownRow& row : plan.report.rows) log_info(row_text(row));
}

// The memory of the largest probe. They run on the CPU, whatever computes the job.
size_t memory_of_probes(const Job& job, const TrainingInputs& inputs) {
  if (!inputs.probes) return 0;
  const auto host = make_host_device(job, host_precision(job));
  return inputs.probes->memory_bytes(inputs.program_bytes, *host);
}

// Says what keeping equal texts apart means for these rows.
void say_repeats(const TrainingOptions& options, int64_t rows, const Batcher::EpochCount& epoch) {
  if (options.sampler != BatchSampler::kNoDuplicates) return;
  log_info(cat("--batch-sampler no_duplicates: ", epoch.repeating_rows, " of ",
               counted(rows, "row"), epoch.repeating_rows == 1 ? " has" : " have",
               " a text that another row has, too; the first epoch has ",
               counted(epoch.updates, "update"), ", of which ", epoch.short_updates,
               epoch.short_updates == 1 ? " has" : " have", " fewer rows for that"));
}

// The limits of the machine, and --memory-limit for a process beside another.
MemoryLimits limits_of(const Job& job, const Device& device) {
  MemoryLimits limits = memory_limits(device);
  const auto given = static_cast<uint64_t>(job.command_line.memory_limit);
  if (given > 0 && (!limits.host || given < limits.host->size_bytes)) {
    limits.host = MemoryLimit{given, "the limit of this process"};
  }
  return limits;
}

// Chooses how many rows are embedded at a time, where no flag says it. The bits of the gradients
// depend on it. So a resumed job keeps the choice of the first process if that fits, and all
// workers take the same number.
void settle_mini_batch(const Job& job, const JobDirectory& directory, const TrainingPlan& plan,
                       Device& device, TrainingInputs& inputs) {
  std::optional<int64_t>& rows = inputs.resolved.settings.training.embedding_mini_batch_size;
  if (rows || !compares_texts(inputs.model.config)) return;
  constexpr double kAll = 1e9;  // 0 means all rows, which is the largest number of them
  const int64_t fitting =
      fitting_mini_batch(inputs.settings(), inputs.model.config, plan.data, plan.limits, device);
  const auto begun = EarlierJob::find(job.storage, directory.root());
  const auto number = [](std::optional<int64_t> size) {
    return size.value_or(0) == 0 ? kAll : static_cast<double>(*size);
  };
  std::vector<double> told = {number(fitting), number(begun ? begun->mini_batch() : std::nullopt)};
  if (job.ranks != nullptr) {
    const auto all = gather_values(*job.ranks, told);
    for (const std::vector<double>& of_rank : all) told[0] = std::min(told[0], of_rank[0]);
    told[1] = all.front()[1];
  }
  const double least = std::min(told[0], told[1]);
  rows = least == kAll ? 0 : static_cast<int64_t>(least);
  if (*rows == 0 || !job.leads()) return;
  log_info(cat("--embedding-mini-batch-size ", *rows,
               ": the rows of a batch are embedded in parts, because ",
               told[0] == kAll ? "the job began so" : "all at once do not fit the memory",
               "; the updates stay the same (gradient caching)"));
}

// What an evaluation keeps to choose the thresholds of labels: of each label in each row its logit,
// its target, and both once more while the labels are compared.
size_t bytes_of_choice(size_t labels, int64_t rows) {
  return labels * static_cast<size_t>(rows) * 4 * sizeof(float);
}

}  // namespace

TrainingPlan plan_training(const Job& job, const JobDirectory& directory, TrainingInputs& inputs,
                           TrainingData& data, Device& device) {
  const Settings& settings = inputs.settings();
  TrainingPlan plan;
  choose_metrics(job, inputs, data.eval().has_value(), plan);
  if (settings.training.token_budget > 0) {
    data.train().count_tokens(compute_threads(settings), job.stop);
  }
  job.stop_point();
  plan.data = data_memory(inputs.program_bytes, inputs.rows, data.train(), data.eval());
  if (inputs.retrieval) plan.data.tables += inputs.retrieval->memory_bytes();
  if (data.eval() && chooses_thresholds(settings.data)) {
    plan.data.tables += bytes_of_choice(inputs.rows.labels.size(), data.eval()->size());
  }
  plan.data.teacher = data.target_bytes();
  plan.data.probe = memory_of_probes(job, inputs);
  plan.limits = limits_of(job, device);
  settle_mini_batch(job, directory, plan, device, inputs);
  plan.memory = training_memory(settings, inputs.model.config, plan.data, plan.limits, device);
  constexpr size_t kUncounted = size_t{1} << 20;  // the system counts pages of threads late
  return_freed_memory();                          // what tokenizing the rows has freed
  const size_t peak = peak_resident_bytes() + kUncounted;
  plan.memory.reading = peak - std::min(peak, plan.memory.on_host());
  log_info("memory: " + memory_text(plan.memory, plan.limits));
  plan.updates = make_plan(settings.training, data.train());
  say_repeats(settings.training, data.train().size(), plan.updates.first_epoch);
  plan.rows = ordered_rows(data.train());
  plan.disk = plan_disk(job, inputs, data, plan.updates, plan.data.most_examples);
  if (!plan.disk.needs.empty()) log_info("disk: " + disk_text(plan.disk));
  plan.report = make_report(job, inputs, data, plan.updates, device);
  survey(inputs, data, plan);
  preview(job, inputs, data, plan);
  if (inputs.probes) {
    plan.report.probes = inputs.probes->facts();
    plan.report.probed_steps = ProbeRule(settings.probes, settings.training, plan.updates).count();
  }
  return plan;
}

void print_plan(const TrainingPlan& plan, bool as_json) {
  const DryRun dry_run{
      .job = plan.report, .memory = plan.memory, .limits = plan.limits, .disk = plan.disk};
  StandardOutput output;
  output.write(as_bytes(as_json ? printable_json(to_json(dry_run)) + "\n"
                                : printable_lines(to_text(dry_run))));
  output.close();
}

void require_memory_for(const TrainingPlan& plan, const TrainingInputs& inputs, Device& device) {
  require_training_memory(inputs.settings(), inputs.model.config, plan.data, plan.limits, device);
  const bool waits = plan.memory.saves == Saving::kWhileTrainingWaits;
  if (!waits || !plan.options.keeps_weights) return;
  log_info(
      "the memory does not suffice for copies of the saved tensors: training waits while "
      "checkpoints are "
      "written");
}

namespace {

constexpr uint64_t kParameterBytes = sizeof(float);

uint64_t bytes_of(int64_t elements, uint64_t of_one) {
  return static_cast<uint64_t>(elements) * of_one;
}

// The parameters, and two moments of the parameters that train.
uint64_t checkpoint_bytes(const EngineOptions& options) {
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  return bytes_of(total_elements(specs), kParameterBytes) +
         2 * bytes_of(trained_elements(specs), kParameterBytes);
}

// The parameters in each format, and the tokenizer's files.
uint64_t model_bytes(const OutputOptions& output, const ModelDescription& model) {
  const int64_t elements = total_elements(parameter_table(model.config));
  const uint64_t weights = bytes_of(elements, size_of(output.export_dtype.value_or(DType::kF32)));
  uint64_t total = weights;
  if (output.export_format == ExportFormat::kOnnx) total += weights;
  if (output.export_format == ExportFormat::kTensorflow) {
    total += bytes_of(elements, kParameterBytes);
  }
  for (const Tokenizer::File& file : model.tokenizer->files()) total += file.content.size();
  return total;
}

// Counts checkpoints. Of the saves by the automatic interval (SavePace), two stay at most. If
// somebody chose the interval, only the number of updates bounds them.
void count_checkpoints(const TrainingOptions& options, const Plan& updates, bool evaluates,
                       bool is_done, DiskUse& use) {
  const int64_t total = std::max<int64_t>(updates.total_steps, 1);
  const int64_t by_steps = options.save_steps > 0 ? (total - 1) / options.save_steps : 0;
  const int64_t evaluations = evaluates ? evaluations_until(options, updates, total - 1) : 0;
  const bool is_timed = options.save_minutes.value_or(1) > 0;
  const bool keeps_timed = is_timed && options.save_minutes;
  const int64_t saves =
      keeps_timed ? total : std::min(total, by_steps + evaluations + 1 + (is_timed ? 2 : 0));
  const int64_t limit = options.save_total_limit;
  const int64_t best = evaluates ? 1 : 0;
  use.kept_checkpoints = limit == 0 ? saves : std::min(saves, limit + best);
  use.most_checkpoints = limit == 0 ? saves : std::min(saves, limit + best + 1);
  use.least_checkpoints = !is_done && by_steps + evaluations > 0 ? 2 : 1;
  use.gives_up = options.gives_up_checkpoints;
  if (use.gives_up) return;
  // An early stop may come before most of them.
  const int64_t certain = options.early_stopping_patience > 0 ? 1 : by_steps + 1;
  use.least_checkpoints = std::max(use.least_checkpoints, certain);
  use.kept_checkpoints = std::min(use.kept_checkpoints, certain);
}

// A directory of the job, with what it holds.
struct Place {
  Uri directory;
  DiskParts parts;
};

// Adds the need of the file system that holds `place`, or adds to it.
void add_need(const Place& place, std::vector<std::pair<DiskNeed, DiskParts>>& needs) {
  const std::optional<Volume> volume = volume_of(place.directory);
  const auto same = std::ranges::find_if(needs, [&](const auto& need) {
    const std::optional<Volume>& other = need.first.volume;
    return volume && other ? volume->id == other->id : !volume && !other;
  });
  auto& [need, parts] =
      same != needs.end()
          ? *same
          : needs.emplace_back(DiskNeed{.place = place.directory.to_string(), .volume = volume},
                               DiskParts());
  parts.checkpoints = parts.checkpoints || place.parts.checkpoints;
  parts.model = parts.model || place.parts.model;
  parts.teacher = parts.teacher || place.parts.teacher;
  need.own_bytes += bytes_below(place.directory);
}

}  // namespace

DiskBudget plan_disk(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                     const Plan& updates, int64_t most_examples) {
  const Settings& settings = inputs.settings();
  const TrainingOptions& options = settings.training;
  if (!options.keeps_weights) return {};
  const JobDirectory directory(settings.output);
  DiskBudget budget;
  DiskUse& use = budget.use;
  use.checkpoint_bytes =
      checkpoint_bytes(training_engine(settings, inputs.model.config, most_examples));
  use.model_bytes = model_bytes(settings.output, inputs.model);
  use.teacher_bytes = data.target_bytes();
  use.other_seeds = static_cast<int64_t>(options.earlier_seeds.size()) + options.later_seeds;
  const auto found = find_checkpoints(job.storage, directory.checkpoints());
  const bool is_done = !found.empty() && found.rbegin()->first >= updates.total_steps;
  count_checkpoints(options, updates, data.eval().has_value() || inputs.retrieval, is_done, use);

  std::vector<std::pair<DiskNeed, DiskParts>> needs;
  add_need({directory.checkpoints(), {.checkpoints = true}}, needs);
  add_need({directory.model(), {.model = true}}, needs);
  if (use.teacher_bytes > 0) add_need({directory.teacher(), {.teacher = true}}, needs);
  for (const SeedPlaces& seed : options.earlier_seeds) {
    add_need({Uri::parse(seed.checkpoints), {.checkpoints = true}}, needs);
    add_need({Uri::parse(seed.model), {.model = true}}, needs);
  }
  for (auto& [need, parts] : needs) {
    need.least_bytes = least_bytes(use, parts);
    need.most_bytes = most_bytes(use, parts);
    budget.needs.push_back(std::move(need));
  }
  return budget;
}

RoomOptions room_options(const JobDirectory& directory, const TrainingOptions& options) {
  RoomOptions room{.directory = directory.checkpoints(),
                   .gives_up = options.gives_up_checkpoints,
                   .needs_best = options.load_best_model_at_end};
  for (const SeedPlaces& seed : options.earlier_seeds) {
    room.finished.push_back(Uri::parse(seed.checkpoints));
  }
  return room;
}

}  // namespace berth
