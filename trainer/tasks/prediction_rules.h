#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/metrics/label_thresholds.h"
#include "trainer/tasks/answer_picker.h"

namespace berth {

class Dataset;

// How logits become predictions, beside the names of the classes. Each task uses its own part.
struct PredictionRules {
  AnswerOptions answers{};       // of questions
  LabelThresholds thresholds{};  // of sets of labels
  // Whether matthews_correlation is a metric of more than two classes, too.
  bool correlates_classes = false;
  // The sizes of shorter embeddings whose cosines stand behind the first one.
  std::vector<int64_t> shorter_sizes{};
};

// What evaluators and prediction lines are made from. Borrows all of it. `labels` are the names of
// the classes, in the order of the logits.
struct ResultInputs {
  Dataset& data;
  const std::vector<std::string>& labels;
  const PredictionRules& rules;
};

}  // namespace berth
