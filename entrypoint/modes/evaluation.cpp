#include "entrypoint/modes/evaluation.h"

#include <algorithm>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/modes/labelled_evaluation.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/printable.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/results.h"

namespace berth {

namespace {

bool has_many_classes(const JobMetrics& metrics) {
  const size_t most = std::max(metrics.evaluation->scores.classes.size(),
                               metrics.evaluation->scores.confusion.size());
  return most > kMostShownClasses;
}

// The text for standard output. For many classes it is a summary, and evaluation.json in the job
// directory has everything. If there is no such directory, or the file cannot be written,
// everything is printed.
std::string printed(Job& job, const JobMetrics& metrics) {
  const std::string& directory = job.command_line.settings.output.job_dir;
  if (directory.empty() || !has_many_classes(metrics)) return to_json(metrics);
  const Uri details = JobDirectory(job.command_line.settings.output).evaluation();
  try {
    write_text(job.storage, details, to_json(metrics));
  } catch (const Error& error) {
    log_warning(cat("the scores of all classes are printed, because they could not be stored: ",
                    error.what()));
    return to_json(metrics);
  }
  log_info(cat("the scores of all classes and the confusion matrix are in ", details.to_string()));
  return to_summary_json(metrics, details.to_string());
}

}  // namespace

void run_evaluation(Job& job) {
  FinishedModel finished(job);
  const ModelConfig& config = finished.config();
  const EvaluationResult evaluation = evaluate_rows(job, finished, finished.sources().eval);
  job.output.on_evaluation({.examples = evaluation.examples,
                            .loss = evaluation.loss,
                            .seconds = evaluation.seconds,
                            .metrics = evaluation.scores.metrics,
                            .majority_rate = evaluation.scores.majority_rate,
                            .split = "eval"});
  JobMetrics metrics{.result = std::nullopt,
                     .evaluation = evaluation,
                     .task = config.task,
                     .precision = finished.engine_info().precision,
                     .kernels = finished.engine_info().description};
  if (!finished.sources().mismatched.path.empty()) {
    metrics.mismatched = evaluate_rows(job, finished, finished.sources().mismatched);
  }
  if (metrics.precision == Precision::kInt8) {
    metrics.in_fp32 = tell_cost_of_int8(job, finished, evaluation);
  }
  job.output.on_finish();
  if (!job.leads()) return;
  StandardOutput standard_output;
  standard_output.write(as_bytes(printable_json(printed(job, metrics))));
  standard_output.close();
}

}  // namespace berth
