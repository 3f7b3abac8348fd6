#include "trainer/model/task_names.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

struct TaskNames {
  Task task;
  std::string_view class_suffix, problem_type;
};
constexpr std::string_view kOfSequences = "ForSequenceClassification";
constexpr std::array kTasks = {
    TaskNames{Task::kSequenceClassification, kOfSequences, "single_label_classification"},
    TaskNames{Task::kRegression, kOfSequences, "regression"},
    TaskNames{Task::kMultiLabel, kOfSequences, "multi_label_classification"},
    TaskNames{Task::kTokenClassification, "ForTokenClassification", ""},
    TaskNames{Task::kQuestionAnswering, "ForQuestionAnswering", ""},
    TaskNames{Task::kMaskedLm, "ForMaskedLM", ""},
};

const TaskNames& names_of(Task task) {
  return *std::find_if(kTasks.begin(), kTasks.end(),
                       [task](const TaskNames& names) { return names.task == task; });
}

const std::vector<std::string> kScore = {"score"};
const std::vector<std::string> kUnnamed = {"LABEL_0", "LABEL_1"};

}  // namespace

std::string_view class_suffix(Task task) { return names_of(task).class_suffix; }

std::string_view problem_type(Task task) { return names_of(task).problem_type; }

std::optional<Task> saved_task(std::string_view class_name, std::string_view problem_type,
                               size_t num_labels) {
  for (const TaskNames& names : kTasks) {
    const bool by_class = !class_name.empty() && class_name.ends_with(names.class_suffix);
    const bool fits = names.problem_type.empty()
                          ? by_class
                          : problem_type == names.problem_type && (by_class || class_name.empty());
    if (fits) return names.task;
  }
  if (!problem_type.empty() || !class_name.ends_with(kOfSequences)) return std::nullopt;
  return num_labels == 1 ? Task::kRegression : Task::kSequenceClassification;
}

void name_score(std::vector<std::string>& labels) {
  if (labels.empty() || (labels.size() == 1 && labels[0] == kUnnamed[0])) labels = kScore;
}

std::vector<std::string> saved_labels(Task task, const std::vector<std::string>& labels) {
  if (task == Task::kQuestionAnswering) return kUnnamed;
  const bool unnamed_score = task == Task::kRegression && (labels.empty() || labels == kScore);
  return unnamed_score ? std::vector<std::string>{kUnnamed[0]} : labels;
}

}  // namespace berth
