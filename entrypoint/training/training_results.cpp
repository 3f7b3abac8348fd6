#include "entrypoint/training/training_results.h"

#include <cstdio>
#include <optional>
#include <string>

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/hub_model.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/training/finished_job.h"
#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/probes.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

std::string evaluated_file(const DataOptions& data) {
  if (!data.eval_data_file.empty()) return data.eval_data_file;
  return data.train_data_file.empty() ? data.data_dir : data.train_data_file;
}

// Evaluates the trained model on MNLI's second set.
EvaluationResult evaluate_mismatched(Job& job, const TrainingInputs& inputs, Engine& engine) {
  const Settings& settings = inputs.settings();
  const TrainingRows& rows = inputs.rows;
  const LabelledData examples(*rows.mismatched, rows.task, rows.labels, /*wants_labels=*/true,
                              settings, *inputs.model.tokenizer);
  Dataset data = examples.all_rows();
  const std::optional<EvaluationResult> result =
      evaluate(engine, data, settings.training.examples_per_evaluation_batch(), inputs.reading(),
               job.output, job.stop);
  job.stop_point();
  return *result;
}

std::string four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

// Logs the metric that decides which model is the best. Does nothing if that is the loss, which the
// evaluation has already shown.
void log_result(const EvaluationResult& evaluation, const std::string& metric,
                const std::string& split) {
  const TaskScores& scores = evaluation.scores;
  if (!scores.metrics.contains(metric)) return;
  std::string line = cat(split == "validation" ? "held-out" : "evaluation", " ", metric, " ",
                         four_digits(scores.metrics.at(metric)));
  if (scores.majority_rate) {
    line += cat(" (majority class ", four_digits(*scores.majority_rate), ")");
  }
  log_info(cat(line, " over ", counted(evaluation.examples, "example")));
}

// Logs what the probes found at first and at last, and what they cost.
void log_probes(const TrainResult& result) {
  for (const std::string& summary : probe_summaries(result.state.probes)) log_info(summary);
  if (result.probe_seconds == 0) return;
  char cost[96];
  std::snprintf(cost, sizeof cost, "probes took %.1f s, %.1f %% of the training's time",
                result.probe_seconds, 100 * probe_share(result));
  log_info(cost);
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
    job.output.on_second_evaluation({.step = result.state.step,
                                     .examples = metrics.mismatched->examples,
                                     .loss = metrics.mismatched->loss,
                                     .seconds = metrics.mismatched->seconds,
                                     .metrics = metrics.mismatched->scores.metrics,
                                     .majority_rate = metrics.mismatched->scores.majority_rate,
                                     .scores = &metrics.mismatched->scores});
  }
  if (plan.options.keeps_weights) {
    run.room().write(directory.model(), plan.disk.use.model_bytes, result.state.step, [&] {
      export_results(job.storage, inputs.settings(), directory.model(), inputs.model,
                     engine.tensors(StateTensors::kValues), metrics);
    });
    metrics.model_bytes = model_bytes(job.storage, directory.model());
  }
  job.output.on_finish();
  if (result.evaluation) {
    log_result(*result.evaluation, plan.options.metric_for_best_model, inputs.eval_split());
  }
  log_probes(result);
  // Workers that were stopped have left it, before one process went on.
  if (job.ranks == nullptr) job.storage.remove(directory.rendezvous());
  run.room().write(directory.metrics(), 0, result.state.step,
                   [&] { write_text(job.storage, directory.metrics(), to_json(metrics)); });
  if (inputs.teacher) remove_saved_targets(job.storage, directory.teacher());
  if (plan.options.keeps_weights) {
    job.progress.set_results(
        training_results(job.command_line, job.storage, directory, inputs.rows.task));
  }
}

}  // namespace berth
