#pragma once

#include <cstdint>
#include <vector>

#include "trainer/metrics/label_thresholds.h"
#include "trainer/tasks/answer_picker.h"

namespace berth {

// How logits become predictions, beside the names of the classes. Each task uses its own part.
struct PredictionRules {
  AnswerOptions answers{};       // of questions
  LabelThresholds thresholds{};  // of sets of labels
  // Whether matthews_correlation is a metric of more than two classes, too.
  bool correlates_classes = false;
  // The sizes of shorter embeddings whose cosines stand behind the first one.
  std::vector<int64_t> shorter_sizes{};
};

}  // namespace berth
