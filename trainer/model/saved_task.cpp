#include "trainer/model/saved_task.h"

#include "storage/base/text.h"

namespace berth {
namespace {

// The name that transformers gives to an output without a name.
std::string placeholder(int64_t output) { return cat("LABEL_", output); }

std::vector<std::string> placeholders(int64_t outputs) {
  std::vector<std::string> names;
  for (int64_t output = 0; output < outputs; ++output) names.push_back(placeholder(output));
  return names;
}

}  // namespace

std::optional<Task> saved_task(std::string_view class_name, std::string_view problem_type,
                               size_t num_labels) {
  for (const TaskTraits& row : task_table()) {
    if (row.class_suffix == "Model") continue;  // that is an encoder, whose task is still open
    const bool by_class = !class_name.empty() && class_name.starts_with(row.class_prefix) &&
                          class_name.ends_with(row.class_suffix);
    const bool fits = row.problem_type.empty()
                          ? by_class
                          : problem_type == row.problem_type && (by_class || class_name.empty());
    if (fits) return row.task;
  }
  const bool is_of_sequences = class_name.ends_with(traits(kDefaultTask).class_suffix);
  if (!problem_type.empty() || !is_of_sequences) return std::nullopt;
  return num_labels == 1 ? usual_task(LabelKind::kNumber) : usual_task(LabelKind::kClass);
}

bool is_classifier(std::string_view class_name) {
  return class_name.ends_with("ForSequenceClassification") ||
         class_name.ends_with("ForTokenClassification");
}

std::vector<std::string> placeholder_labels(int64_t num_labels) { return placeholders(num_labels); }

void name_score(std::vector<std::string>& labels) {
  const bool has_own_name = !labels.empty() && labels != placeholders(1);
  if (!has_own_name) labels = output_labels(usual_task(LabelKind::kNumber));
}

std::vector<std::string> saved_labels(Task task, const std::vector<std::string>& labels) {
  const TaskTraits& row = traits(task);
  if (row.has_classes || row.outputs == 0) return labels;
  if (row.rows == HeadRows::kReplaced) return {};  // transformers' discriminators have no labels
  const bool has_own_names = !labels.empty() && labels != output_labels(task);
  return has_own_names && !row.output_name.empty() ? labels : placeholders(row.outputs);
}

}  // namespace berth
