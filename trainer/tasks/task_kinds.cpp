#include "trainer/tasks/task_kinds.h"

#include <algorithm>
#include <array>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct TaskKind {
  Task task;
  std::array<std::string_view, 5> names;  // its own first
};

constexpr std::array<TaskKind, 5> kKinds = {{
    {Task::kSequenceClassification,
     {"sequence_classification", "classification", "text_classification",
      "single_label_classification", "bert_classification"}},
    {Task::kRegression, {"regression", "bert_regression", "scoring"}},
    {Task::kMultiLabel, {"multi_label", "multi_label_classification", "multilabel"}},
    {Task::kTokenClassification, {"token_classification", "ner", "pos", "chunk", "tagging"}},
    {Task::kQuestionAnswering, {"question_answering", "qa", "squad", "squad_v2"}},
}};

}  // namespace

std::string_view task_name(Task task) {
  for (const TaskKind& kind : kKinds) {
    if (kind.task == task) return kind.names[0];
  }
  return "masked_lm";
}

std::optional<Task> find_task(std::string_view name) {
  std::string wanted = lower_ascii(name);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const TaskKind& kind : kKinds) {
    const bool is_named = !wanted.empty() && std::find(kind.names.begin(), kind.names.end(),
                                                       wanted) != kind.names.end();
    if (is_named) return kind.task;
  }
  return std::nullopt;
}

std::string known_tasks() {
  std::string text;
  for (const TaskKind& kind : kKinds) {
    text.append(text.empty() ? "" : ", ").append(kind.names[0]);
  }
  return text;
}

std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag) {
  const std::string metric = name.starts_with("eval_") ? name.substr(5) : name;
  const bool is_known = std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  if (metric == kLossName || is_known) return metric;
  std::string known = kLossName;
  for (const std::string& known_name : metrics) known += ", " + known_name;
  throw Error(Code::kUsage, cat(quoted(name), " is no metric of this task; there are ", known),
              flag);
}

std::vector<std::string> metric_names(Task task, int64_t num_classes) {
  switch (task) {
    case Task::kRegression:
      return {"pearson", "spearman", "mse"};
    case Task::kMultiLabel:
      return {"f1_micro", "f1_macro", "accuracy"};
    case Task::kTokenClassification:
      return {"entity_f1", "precision", "recall", "accuracy"};
    case Task::kQuestionAnswering:
      return {"f1", "exact_match"};
    default:
      break;
  }
  if (num_classes == 2) return {"accuracy", "f1", "precision", "recall", "matthews_correlation"};
  return {"accuracy", "f1_macro"};
}

}  // namespace berth
