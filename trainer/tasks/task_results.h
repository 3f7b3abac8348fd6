#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/model/task.h"
#include "trainer/tasks/answer_options.h"
#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// One row of the table of the results that a task's logits become. It stands beside the row of the
// same task in trainer/model/task.cpp, and holds the traits that need data and metrics.
struct TaskResults {
  Task task;

  // The names of the evaluation's metrics, the main one first. The loss is not among them.
  std::vector<std::string> (*metric_names)(int64_t num_classes);

  // Compares logits with the data's labels. All three borrow the data set; `labels` are the names
  // of the classes, in the order of the logits.
  std::unique_ptr<Evaluator> (*evaluator)(Dataset& data, const std::vector<std::string>& labels,
                                          const AnswerOptions& answers);
  // Writes logits as the lines of predictions.tsv. Null: the task has no predictions.
  std::unique_ptr<PredictionLines> (*lines)(Dataset& data, const std::vector<std::string>& labels,
                                            const AnswerOptions& answers);
  // Writes logits as the lines of test_results.tsv, as google-research/bert's run_classifier.py
  // does. Null: that program does not know the task.
  std::unique_ptr<PredictionLines> (*test_results)() = nullptr;
};

// The row of `task`.
const TaskResults& results_of(Task task);

}  // namespace berth
