#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

// Scores predicted sets of classes against the true ones, as scikit-learn does with indicator
// matrices. A class is predicted where its probability, sigmoid(logit), is above 0.5, and true
// where its target is above 0.5. Not thread-safe.
class MultiLabelMetrics {
 public:
  explicit MultiLabelMetrics(int64_t num_labels);

  // Adds one example, with a logit and a target for each label.
  void add(std::span<const float> logits, std::span<const float> targets);

  int64_t examples() const { return examples_; }
  // The counts of one label, which give its precision, recall, F1 and support.
  const ClassCounts& of_label(int64_t label) const { return labels_[static_cast<size_t>(label)]; }

  // accuracy: the share of examples whose whole set is right;
  // f1_micro: the F1 of the sums of all labels' counts;
  // f1_macro: the mean F1 over the labels, with 0 for a label that neither occurs nor is predicted.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<ClassCounts> labels_;
  int64_t examples_ = 0, right_ = 0;
};

// The logistic function in double precision.
double sigmoid(float logit);

}  // namespace berth
