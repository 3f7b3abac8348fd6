#include "trainer/tasks/glue.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

ColumnChoice columns(std::string text, std::string pair, std::string label = "") {
  return {.text = std::move(text),
          .text_pair = std::move(pair),
          .label = std::move(label),
          .weight = ""};
}

std::vector<GlueTask> make_tasks() {
  constexpr Task kClasses = Task::kSequenceClassification;
  constexpr std::string_view kTrain = "train.tsv", kDev = "dev.tsv", kTest = "test.tsv";
  const ColumnChoice sentences = columns("sentence1", "sentence2");
  const std::vector<std::string> numbers = {"0", "1"},
                                 entailment = {"entailment", "not_entailment"},
                                 of_mnli = {"contradiction", "entailment", "neutral"}, none;
  return {
      {"cola", kClasses, kTrain, kDev, "", kTest, columns("3", "", "1"), columns("sentence", ""),
       true, numbers, "matthews_correlation"},
      {"sst2", kClasses, kTrain, kDev, "", kTest, columns("sentence", "", "label"),
       columns("sentence", ""), false, numbers, "accuracy"},
      {"mrpc", kClasses, kTrain, kDev, "", kTest, columns("#1 String", "#2 String", "Quality"),
       columns("#1 String", "#2 String"), false, numbers, "f1"},
      {"stsb", Task::kRegression, kTrain, kDev, "", kTest,
       columns("sentence1", "sentence2", "score"), sentences, false, none, "pearson"},
      {"qqp", kClasses, kTrain, kDev, "", kTest, columns("question1", "question2", "is_duplicate"),
       columns("question1", "question2"), false, numbers, "f1"},
      {"mnli", kClasses, kTrain, "dev_matched.tsv", "dev_mismatched.tsv", "test_matched.tsv",
       columns("sentence1", "sentence2", "gold_label"), sentences, false, of_mnli, "accuracy",
       /*has_several_orders=*/true},
      {"qnli", kClasses, kTrain, kDev, "", kTest, columns("question", "sentence", "label"),
       columns("question", "sentence"), false, entailment, "accuracy"},
      {"rte", kClasses, kTrain, kDev, "", kTest, columns("sentence1", "sentence2", "label"),
       sentences, false, entailment, "accuracy"},
      {"wnli", kClasses, kTrain, kDev, "", kTest, columns("sentence1", "sentence2", "label"),
       sentences, false, numbers, "accuracy"},
      // The diagnostic set, on which models of MNLI are scored.
      {"ax", kClasses, "", "diagnostic.tsv", "", "diagnostic.tsv",
       columns("sentence1", "sentence2", "label"), sentences, false, of_mnli,
       "matthews_correlation", /*has_several_orders=*/true},
  };
}

}  // namespace

std::span<const GlueTask> glue_tasks() {
  static const std::vector<GlueTask> tasks = make_tasks();
  return tasks;
}

std::string known_glue_tasks() { return joined(glue_tasks(), ", ", &GlueTask::name); }

const GlueTask* find_glue_task(std::string_view name) {
  std::string wanted = lower_ascii(name);
  std::erase_if(wanted, [](char c) { return c == '-' || c == '_'; });
  for (const GlueTask& task : glue_tasks()) {
    if (task.name == wanted) return &task;
  }
  return nullptr;
}

}  // namespace berth
