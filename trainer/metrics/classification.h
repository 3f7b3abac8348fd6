#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

// Counts of (true class, predicted class) and what follows from them, as scikit-learn computes it.
// Its memory is proportional to the classes and to the pairs that occur.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t num_classes);

  // One example; the prediction is the largest logit, the lower class on a tie.
  void add(std::span<const float> logits, int32_t label);

  int64_t num_classes() const { return static_cast<int64_t>(classes_.size()); }
  int64_t examples() const { return examples_; }
  // Examples of class `truth` that were taken for `prediction`.
  int64_t count(int64_t truth, int64_t prediction) const;
  // Precision, recall, F1 and support of one class.
  const ClassCounts& of_class(int64_t label) const { return classes_[static_cast<size_t>(label)]; }

  // accuracy; two classes: precision, recall and f1 of class 1, matthews_correlation; more:
  // f1_macro (over the classes that occur or are predicted).
  std::map<std::string, double> metrics() const;
  // Matthews 1975, of more classes Gorodkin 2004 (R_K); 0 where all truths or all predictions are
  // of one class.
  double matthews_correlation() const;
  // The accuracy of always answering the most frequent true class.
  double majority_rate() const;

 private:
  int64_t correct() const;

  int64_t examples_ = 0;
  std::vector<ClassCounts> classes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts_;  // of (truth, prediction), from 1
};

// The largest value's index, the lowest on a tie.
int64_t argmax(std::span<const float> values);

// Softmax in double precision.
std::vector<double> softmax(std::span<const float> logits);

}  // namespace berth
