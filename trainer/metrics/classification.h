#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

// Counts the pairs of (true class, predicted class), and computes metrics from them as scikit-learn
// does. Memory is proportional to the number of classes and of different pairs. Not thread-safe.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t num_classes);

  // Adds one example. The predicted class has the largest logit; on a tie, the lowest class wins.
  void add(std::span<const float> logits, int32_t label);

  int64_t num_classes() const { return static_cast<int64_t>(classes_.size()); }
  int64_t examples() const { return examples_; }
  // The number of examples of class `truth` that were predicted to be of class `prediction`.
  int64_t count(int64_t truth, int64_t prediction) const;
  // The counts of one class, which give its precision, recall, F1 and support.
  const ClassCounts& of_class(int64_t label) const { return classes_[static_cast<size_t>(label)]; }

  // accuracy, and
  //   of two classes: precision, recall and f1 of class 1, and matthews_correlation,
  //   of more: f1_macro, the mean over the classes that occur or are predicted.
  std::map<std::string, double> metrics() const;
  // Matthews 1975; for more than two classes R_K (Gorodkin 2004). 0 where all truths or all
  // predictions are of one class.
  double matthews_correlation() const;
  // The accuracy of a model that always predicts the most frequent true class.
  double majority_rate() const;

 private:
  int64_t correct() const;

  int64_t examples_ = 0;
  std::vector<ClassCounts> classes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts_;  // of (truth, prediction); none is 0
};

// The index of the largest value, the lowest on a tie.
int64_t argmax(std::span<const float> values);

// Softmax in double precision.
std::vector<double> softmax(std::span<const float> logits);

}  // namespace berth
