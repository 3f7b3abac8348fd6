#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/tasks/evaluator.h"

namespace berth {

// The records of an event file that show an evaluation of classes in TensorBoard: for each class a
// curve in the tab PR Curves, as pr_curves/CLASS, and a confusion matrix in the tab Images, as
// confusion_matrix. Empty for other tasks; there are no curves where there are more classes than
// EvaluationDetails::kMostWithCurves.
std::vector<std::vector<std::byte>> class_events(double wall_time_s, int64_t step,
                                                 const TaskScores& scores);

}  // namespace berth
