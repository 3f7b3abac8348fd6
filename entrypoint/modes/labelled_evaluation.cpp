#include "entrypoint/modes/labelled_evaluation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/report/bar_line.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/results.h"
#include "trainer/tasks/glue.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// The class names that rows may have as labels, in the order of the model's logits. Throws kUsage
// if the model has only some of the task's label names, because the rest cannot be matched.
std::vector<std::string> label_names(const FinishedModel& finished) {
  const ModelConfig& config = finished.config();
  if (!traits(config.task).has_classes) return config.labels;
  const std::vector<std::string>& known = finished.sources().labels;
  if (known.size() != config.labels.size()) return evaluation_labels(config);
  if (const auto ordered = in_order_of(config.labels, known)) return *ordered;
  if (are_placeholders(config.labels)) {
    const GlueTask* const glue = find_glue_task(finished.settings().data.task);
    if (glue != nullptr && glue->has_several_orders) {
      throw Error(
          Code::kUsage,
          "the model's labels have no names, and models of this task have them in different "
          "orders",
          finished.name(),
          "pass --label-names entailment,neutral,contradiction, as Hugging Face's data set "
          "has them, or contradiction,entailment,neutral, as google-research/bert has them");
    }
    return known;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (std::ranges::find(config.labels, known[i]) == config.labels.end()) continue;
    throw Error(Code::kUsage,
                cat("the model has the task's label ", quoted(known[i]), ", but not all of them"),
                finished.name(), "name the labels in its config.json's id2label");
  }
  log_info(
      cat("the model's labels have other names than the task's and are matched by their order: ",
          quoted(config.labels.front()), " is ", quoted(known.front()), ", ..."));
  return known;
}

}  // namespace

EvaluationResult evaluate_rows(Job& job, FinishedModel& finished, const DataRequest& request) {
  const Settings& settings = finished.settings();
  const std::vector<std::string> labels = label_names(finished);
  DataRequest known = request;
  if (traits(finished.config().task).has_classes) {
    known.rules.known_labels = labels;
    known.rules.labels_by_number = true;
  }
  LoadedTable loaded = finished.load(known);
  finished.join(loaded);
  warn_of_unanswerable(loaded, settings.data);
  const LabelledData rows(loaded, loaded.task, labels, /*wants_labels=*/true, settings,
                          finished.tokenizer());
  warn_of_tokens(loaded, finished.config(), settings, finished.tokenizer());
  Dataset data = rows.all_rows();
  if (!has_any_label(data)) {
    throw Error(Code::kBadData, "there is nothing to evaluate: no row has a label", loaded.name,
                hint_for_labels(data, settings, finished.tokenizer()));
  }
  const std::optional<EvaluationResult> evaluation = evaluate(
      finished.engine_for(loaded, data), data, settings.training.examples_per_evaluation_batch(),
      {.labels = labels, .answers = answer_options(settings.data)}, job.output, job.stop,
      job.ranks);
  if (!evaluation) throw_stopped();
  if (!std::isfinite(evaluation->loss)) {
    throw Error(Code::kBadData, "the loss of the model is not a finite number", finished.name(),
                "its parameters may be damaged, or come from a job that diverged");
  }
  return *evaluation;
}

EvaluationResult tell_cost_of_int8(Job& job, FinishedModel& finished,
                                   const EvaluationResult& in_int8) {
  finished.compute_in_fp32();
  const EvaluationResult in_fp32 = evaluate_rows(job, finished, finished.sources().eval);
  std::string scores;
  for (const auto& [name, value] : in_fp32.scores.metrics) {
    const auto found = in_int8.scores.metrics.find(name);
    if (found == in_int8.scores.metrics.end()) continue;
    scores += cat(name, " ", number_text("%.4f", found->second), " instead of ",
                  number_text("%.4f", value), ", ");
  }
  log_info(cat("int8 compared with fp32 on ", counted(in_fp32.examples, "row"), ": ", scores,
               "loss ", number_text("%.4f", in_int8.loss), " instead of ",
               number_text("%.4f", in_fp32.loss), ", ", number_text("%.1f", in_int8.seconds),
               " s instead of ", number_text("%.1f", in_fp32.seconds), " s"));
  return in_fp32;
}

}  // namespace berth
