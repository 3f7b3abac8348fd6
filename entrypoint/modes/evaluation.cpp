#include "entrypoint/modes/evaluation.h"

#include "entrypoint/job/finished_model.h"
#include "entrypoint/modes/labelled_evaluation.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/printable.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/results.h"

namespace berth {

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
  standard_output.write(as_bytes(printable_json(to_json(metrics))));
  standard_output.close();
}

}  // namespace berth
