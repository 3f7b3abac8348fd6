#include "entrypoint/flags/task_flags.h"

#include <algorithm>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Traits = const TaskTraits&;

bool has_classes(Traits task) { return task.has_classes; }
bool has_one_class(Traits task) { return task.labels == LabelKind::kClass; }
bool has_cross_entropy(Traits task) {
  return task.labels == LabelKind::kClass || task.labels == LabelKind::kTagPerWord ||
         task.labels == LabelKind::kMaskedId;
}
bool may_have_labels(Traits task) {
  return task.has_label_column || task.rows == HeadRows::kGroups;
}
bool has_labels(Traits task) { return task.has_label_column; }
bool reads_pairs(Traits task) {
  return task.inputs == InputKind::kTexts || task.inputs == InputKind::kTextGroup ||
         task.inputs == InputKind::kQuestion;
}
bool mixes_labels(Traits task) {
  return task.rows == HeadRows::kSequences && task.has_label_column;
}
bool learns_vectors(Traits task) {
  return are_vectors(task.labels) || task.rows == HeadRows::kMasked;
}
bool has_teacher(Traits task) { return mixes_labels(task) || learns_vectors(task); }
bool masks(Traits task) { return task.labels == LabelKind::kMaskedId; }
bool joins_rows(Traits task) { return task.rows == HeadRows::kMasked; }
bool replaces(Traits task) { return task.rows == HeadRows::kReplaced; }
bool finds_answers(Traits task) { return task.labels == LabelKind::kSpan; }
bool compares(Traits task) { return task.rows == HeadRows::kGroups; }
bool compares_with_labels(Traits task) { return compares(task) && task.has_label_column; }

bool trains_one_network(Traits task) { return !replaces(task); }

struct Rule {
  std::string_view flag;
  bool (*is_heeded_by)(Traits);
  bool is_refused_elsewhere = false;  // by a sentence that says more of the flag
};

// Flags without a rule are heeded by every task.
constexpr Rule kRules[] = {{"text-pair-column", reads_pairs},
                           {"label-column", may_have_labels},
                           {"weight-column", has_labels},
                           {"label-names", has_classes, true},
                           {"class-weights", has_one_class, true},
                           {"label-smoothing", has_cross_entropy},
                           {"teacher", has_teacher, true},
                           {"distillation-weight", mixes_labels},
                           {"distillation-temperature", has_one_class},
                           {"distillation-target", learns_vectors},
                           {"mlm-probability", masks},
                           {"whole-word-masking", masks},
                           {"line-by-line", joins_rows},
                           {"attend-across-documents", joins_rows},
                           {"generator", replaces, true},
                           {"generator-hidden-fraction", replaces},
                           {"discriminator-weight", replaces},
                           {"doc-stride", finds_answers},
                           {"n-best-size", finds_answers},
                           {"max-answer-length", finds_answers},
                           {"version-2-with-negative", finds_answers},
                           {"null-score-diff-threshold", finds_answers},
                           {"similarity-loss", compares},
                           {"pooling", compares},
                           {"normalize-embeddings", compares},
                           {"max-similarity", compares_with_labels},
                           {"freeze-embeddings", trains_one_network, true},
                           {"freeze-encoder-layers", trains_one_network, true},
                           {"lora-rank", trains_one_network, true},
                           {"lora-alpha", trains_one_network, true},
                           {"lora-target-modules", trains_one_network, true},
                           {"lora-dropout", trains_one_network, true},
                           {"export-adapter", trains_one_network, true}};

// What heads the column of a task.
struct TaskColumn {
  Task task;
  std::string_view name;
};
constexpr TaskColumn kColumns[] = {
    {Task::kSequenceClassification, "`sequence_classification`"},
    {Task::kRegression, "`regression`"},
    {Task::kMultiLabel, "`multi_label`"},
    {Task::kTokenClassification, "`token_classification`"},
    {Task::kQuestionAnswering, "`question_answering`"},
    {Task::kSimilarity, "`similarity`"},
    {Task::kInBatchNegatives, "the same without labels"},
    {Task::kMaskedLm, "`masked_lm`"},
    {Task::kEmbeddingDistillation, "the same with `--teacher`"},
    {Task::kReplacedTokenDetection, "`replaced_token_detection`"},
};

// How the user names the task.
std::string asked_name(Task task) {
  if (task == Task::kInBatchNegatives) return "similarity without labels";
  if (are_vectors(traits(task).labels)) return "masked_lm with --teacher";
  return std::string(task_name(task));
}

std::string tasks_that_heed(const Rule& rule) {
  std::vector<Task> heeding;
  for (const TaskColumn& column : kColumns) {
    if (rule.is_heeded_by(traits(column.task))) heeding.push_back(column.task);
  }
  std::string names;
  for (size_t i = 0; i < heeding.size(); ++i) {
    names += cat(i == 0 ? "" : i + 1 == heeding.size() ? " and " : ", ", asked_name(heeding[i]));
  }
  return names;
}

}  // namespace

bool heeds(Task task, std::string_view flag) {
  const auto rule = std::ranges::find(kRules, flag, &Rule::flag);
  return rule == std::end(kRules) || rule->is_heeded_by(traits(task));
}

std::string task_flags_markdown() {
  std::string header = "| flag |", line = "\n| --- |", rows;
  for (const TaskColumn& column : kColumns) {
    header += cat(" ", column.name, " |");
    line += " --- |";
  }
  for (const Rule& rule : kRules) {
    rows += cat("\n| `--", rule.flag, "` |");
    for (const TaskColumn& column : kColumns) {
      rows += rule.is_heeded_by(traits(column.task)) ? " does |" : " refused |";
    }
  }
  return header + line + rows + "\n";
}

void require_heeded(const CommandLine& command_line, Task task,
                    const std::function<bool(std::string_view, std::string_view)>& was_accepted) {
  const CommandLine defaults;
  for (const Rule& rule : kRules) {
    if (rule.is_refused_elsewhere || rule.is_heeded_by(traits(task))) continue;
    if (!command_line.gives(rule.flag)) continue;
    const Flag& flag = *std::ranges::find(flag_table(), rule.flag, &Flag::name);
    const std::string value = flag.value.get(command_line);
    if (value == flag.value.get(defaults)) continue;
    const std::string what = cat("the flag changes nothing in a training of ", asked_name(task));
    const std::string typed = cat("--", rule.flag);
    if (was_accepted(rule.flag, value)) {
      log_warning(cat(typed, ": ", what));
      continue;
    }
    throw Error(Code::kUsage, what, typed, cat("leave it out; it is for ", tasks_that_heed(rule)));
  }
}

}  // namespace berth
