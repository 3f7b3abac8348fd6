#include "entrypoint/training/training_plan.h"

#include <algorithm>

#include "entrypoint/job/row_preview.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/memory/memory_text.h"
#include "entrypoint/report/dry_run.h"
#include "entrypoint/report/hypertune_file.h"
#include "entrypoint/report/standard_output.h"
#include "entrypoint/training/disk_plan.h"
#include "storage/base/log.h"
#include "storage/base/memory_limit.h"
#include "storage/base/printable.h"
#include "storage/base/text.h"
#include "trainer/loop/best_rule.h"
#include "trainer/tasks/metric_names.h"

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
void choose_metrics(const Job& job, const TrainingInputs& inputs, TrainingPlan& plan) {
  const TrainingRows& rows = inputs.rows;
  plan.metrics = metric_names(rows.task, static_cast<int64_t>(rows.labels.size()));
  plan.options =
      with_best_metric(inputs.settings().training, inputs.resolved.sources, plan.metrics.front());
  BestRule(plan.options, plan.metrics);  // throws on an unknown metric
  if (!job.command_line.is_tuned()) return;
  plan.hypertune_metric =
      hypertune_metric(job.command_line.tuning, inputs.settings().output.hypertune_metric,
                       plan.options.metric_for_best_model, plan.metrics);
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

// The limits of the machine, and --memory-limit for a process beside another.
MemoryLimits limits_of(const Job& job, const Device& device) {
  MemoryLimits limits = memory_limits(device);
  const auto given = static_cast<uint64_t>(job.command_line.memory_limit);
  if (given > 0 && (!limits.host || given < limits.host->size_bytes)) {
    limits.host = MemoryLimit{given, "the limit of this process"};
  }
  return limits;
}

}  // namespace

TrainingPlan plan_training(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                           Device& device) {
  const Settings& settings = inputs.settings();
  TrainingPlan plan;
  choose_metrics(job, inputs, plan);
  if (settings.training.token_budget > 0) {
    data.train().count_tokens(compute_threads(settings), job.stop);
  }
  job.stop_point();
  plan.data = data_memory(inputs.program_bytes, inputs.rows, data.train(), data.eval());
  plan.data.teacher = data.target_bytes();
  plan.data.probe = memory_of_probes(job, inputs);
  plan.limits = limits_of(job, device);
  plan.memory = training_memory(settings, inputs.model.config, plan.data, plan.limits, device);
  constexpr size_t kUncounted = size_t{1} << 20;  // the system counts pages of threads late
  return_freed_memory();                          // what tokenizing the rows has freed
  const size_t peak = peak_resident_bytes() + kUncounted;
  plan.memory.reading = peak - std::min(peak, plan.memory.on_host());
  log_info("memory: " + memory_text(plan.memory, plan.limits));
  plan.updates = make_plan(settings.training, data.train());
  plan.block_rows = data.train().block_size();
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

}  // namespace berth
