#include "entrypoint/explain/best_metric.h"

#include <string>

#include "entrypoint/explain/script_checks.h"
#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

constexpr const char* kBestMetric = "metric-for-best-model";

struct OtherMetricName {
  std::string_view name, own;
};
constexpr OtherMetricName kOtherMetricNames[] = {
    {"pearsonr", "pearson"},      {"spearmanr", "spearman"},
    {"exact", "exact_match"},     {"mcc", "matthews_correlation"},
    {"macro_f1", "f1_macro"},     {"f1-macro", "f1_macro"},
    {"micro_f1", "f1_micro"},     {"f1-micro", "f1_micro"},
    {"acc", "accuracy"},          {"overall_accuracy", "accuracy"},
    {"overall_f1", "entity_f1"},  {"overall_precision", "precision"},
    {"overall_recall", "recall"},
};
constexpr std::string_view kOwnMetrics =
    "loss accuracy f1 precision recall matthews_correlation f1_macro top_5_accuracy roc_auc "
    "average_precision pearson spearman mse f1_micro entity_f1 exact_match spearman_cosine "
    "pearson_cosine accuracy_at_1 masked_accuracy perplexity ndcg_at_10";

bool finds_tags(const TrainingScript& script, const OwnCommand& own) {
  const std::string task = own.value("task").value_or("");
  return script.name.find("_ner") != script.name.npos || task == "ner" ||
         task == "token_classification" || task == "pos";
}

bool masks(const TrainingScript& script, const OwnCommand& own) {
  const std::string task = own.value("task").value_or("");
  return masks_texts(script.name) || task == "mlm" || task == "masked_lm";
}

std::string own_name(std::string name, const TrainingScript& script, const OwnCommand& own) {
  if (name.starts_with("eval_")) name.erase(0, 5);
  for (const OtherMetricName& row : kOtherMetricNames) {
    if (name == row.name) name = row.own;
  }
  if (name == "f1" && finds_tags(script, own)) return "entity_f1";
  if (name == "accuracy" && masks(script, own)) return "masked_accuracy";
  return name;
}

// Whether run_glue.py computes this metric for a task of GLUE; another one ends the script.
bool is_computed(const GlueTask& task, std::string_view metric) {
  const bool has_both = task.metric == "f1";  // and accuracy
  return metric == "loss" || metric == task.metric || (has_both && metric == "accuracy") ||
         (task.metric == "pearson" && metric == "spearman");
}

// Evaluations of transformers smooth their loss, too.
void check_smoothing(const TrainingScript& script, const OwnCommand& own, Remarks& remarks) {
  const std::string smoothing = own.value("label-smoothing").value_or("0");
  if (*own.value(kBestMetric) != "loss" || smoothing == "0" || smoothing == "0.0") return;
  remarks.refuse("--label-smoothing",
                 cat("is part of the loss by which ", script.name,
                     " chooses the best model. "
                     "berth's evaluations have the plain loss; add --metric-for-best-model NAME "
                     "with another metric to the line"));
}

}  // namespace

void name_best_metric(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                      Remarks& remarks) {
  const bool is_trainer = script.devices == ScriptDevices::kAllGpus;
  const std::string word = own.value("load-best-model-at-end").value_or("false");
  const bool takes_best = is_switch_word(word) && parse_switch(word);
  if (!is_trainer || !own.trains() || !takes_best) return;
  if (typed.value("eval_delay").value_or("0") != "0") {
    remarks.refuse(
        "--eval_delay",
        "leaves the first evaluations out of the choice of the best model; leave it out");
  }
  if (!own.has(kBestMetric)) {
    own.set(kBestMetric, "loss");
    remarks.note("--metric-for-best-model loss",
                 cat("is how ", script.name, " chooses the best model without a flag"));
    return check_smoothing(script, own, remarks);
  }
  const std::string name = own_name(*own.value(kBestMetric), script, own);
  if (name.find('$') != std::string::npos) return;
  if (name != *own.value(kBestMetric)) own.set(kBestMetric, name);
  if (!is_one_of(kOwnMetrics, name)) {
    own.remove(kBestMetric);
    return remarks.refuse(typed.typed_name(kBestMetric),
                          cat("is ", quoted(name),
                              ", which is no metric of berth: docs/tasks.md lists the metrics of "
                              "each task, and each job has loss"));
  }
  check_smoothing(script, own, remarks);
  const GlueTask* glue = find_glue_task(own.value("task").value_or(""));
  if (glue != nullptr && !is_computed(*glue, name)) {
    remarks.refuse(typed.typed_name(kBestMetric),
                   cat("is ", quoted(name), ", which ", script.name, " does not compute for ",
                       glue->name, ", and ends there"));
  }
  if (!typed.value("greater_is_better")) return;
  const bool is_error = name == "loss" || name == "mse" || name == "perplexity";
  if (typed.is_on("greater_is_better") == !is_error) return;
  remarks.refuse("--greater_is_better",
                 cat("makes the worst ", name, " the best one; leave it out"));
}

}  // namespace berth
