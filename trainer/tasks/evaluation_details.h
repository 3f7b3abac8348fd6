#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/metrics/calibration.h"
#include "trainer/metrics/threshold_counts.h"

namespace berth {

// A wrong prediction, for people to look at.
struct Mistake {
  std::string id{};  // of its row: its own, or its number in the source
  // The texts of the row, each cut at a few hundred bytes; none where the source has token ids. For
  // a tag, the word and then its sentence.
  std::vector<std::string> texts{};
  std::string truth{}, prediction{};
  // The probability of the predicted class. For sets of labels, the probability of the wrong label
  // of which the model is surest. For numbers, the distance from the truth.
  double badness = 0;
};

struct NumberPair {
  float truth = 0, prediction = 0;
};

// What an evaluation shows beside its scores. The sizes do not grow with the data.
struct EvaluationDetails {
  std::vector<Mistake> mistakes{};           // the worst first
  std::optional<Calibration> calibration{};  // where texts or words have one class
  std::vector<NumberPair> numbers{};  // of some rows, evenly spaced, where labels are numbers
  // In the order of TaskScores::classes. Empty unless texts have classes, at most kMostWithCurves.
  std::vector<ThresholdCounts> thresholds{};
  static constexpr size_t kMostWithCurves = 20;
  std::optional<double> mean_squared_error{};  // of always predicting the mean of the truths
};

}  // namespace berth
