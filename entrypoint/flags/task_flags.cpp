#include "entrypoint/flags/task_flags.h"

#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

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

std::string tasks_that_heed(const Flag& flag) {
  std::vector<Task> heeding;
  for (const TaskColumn& column : kColumns) {
    if (flag.role.is_heeded_by(column.task)) heeding.push_back(column.task);
  }
  std::string names;
  for (size_t i = 0; i < heeding.size(); ++i) {
    names += cat(i == 0 ? "" : i + 1 == heeding.size() ? " and " : ", ", asked_name(heeding[i]));
  }
  return names;
}

}  // namespace

std::string task_flags_markdown() {
  std::string header = "| flag |", line = "\n| --- |", rows;
  for (const TaskColumn& column : kColumns) {
    header += cat(" ", column.name, " |");
    line += " --- |";
  }
  for (const Flag& flag : flag_table()) {
    if (flag.role.tasks == nullptr) continue;
    rows += cat("\n| `--", flag.name, "` |");
    for (const TaskColumn& column : kColumns) {
      rows += flag.role.is_heeded_by(column.task) ? " does |" : " refused |";
    }
  }
  return header + line + rows + "\n";
}

void require_heeded(const CommandLine& command_line, Task task,
                    const std::function<bool(std::string_view, std::string_view)>& was_accepted) {
  const CommandLine defaults;
  for (const Flag& flag : flag_table()) {
    if (flag.role.is_heeded_by(task) || flag.role.has(kTaskIsRefusedLater)) continue;
    if (!command_line.gives(flag.name)) continue;
    const std::string value = flag.value.get(command_line);
    if (value == flag.value.get(defaults)) continue;
    const std::string what = cat("the flag changes nothing in a training of ", asked_name(task));
    const std::string typed = cat("--", flag.name);
    if (was_accepted(flag.name, value)) {
      log_warning(cat(typed, ": ", what));
      continue;
    }
    throw Error(Code::kUsage, what, typed, cat("leave it out; it is for ", tasks_that_heed(flag)));
  }
}

}  // namespace berth
