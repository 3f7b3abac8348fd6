#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/model/task.h"
#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/prediction_rules.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// The name of the loss among the metrics.
inline constexpr const char* kLossName = "loss";

// The metrics of the task's evaluation beside the loss, the main metric first.
std::vector<std::string> metric_names(Task task, int64_t num_classes);

// Whether a lower value of the metric is the better one.
bool is_error_metric(std::string_view metric);

// A metric that the user named: `name` without the "eval_" that Hugging Face puts before it. Throws
// kUsage, naming `flag`, where it is neither the loss nor one of `metrics`.
std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag);

// One row of the table of the results that a task's logits become. It stands beside the row of the
// same task in trainer/model/task.cpp, and holds the traits that need data and metrics.
struct TaskResults {
  Task task;

  // The names of the evaluation's metrics, the main one first, joined by ", ". The loss is not
  // among them. Empty: they depend on the number of classes.
  std::string_view metrics{};
  std::vector<std::string> (*metrics_of)(int64_t num_classes) = nullptr;

  // Compares logits with the data's labels. All three borrow the data set.
  std::unique_ptr<Evaluator> (*evaluator)(const ResultInputs& of);
  // Writes logits as the lines of predictions.tsv. Null: the task has no predictions.
  std::unique_ptr<PredictionLines> (*lines)(const ResultInputs& of);
  // Writes logits as the lines of test_results.tsv, as google-research/bert's run_classifier.py
  // does. Null: that program does not know the task.
  std::unique_ptr<PredictionLines> (*test_results)() = nullptr;
};

// The row of `task`.
const TaskResults& results_of(Task task);

}  // namespace berth
