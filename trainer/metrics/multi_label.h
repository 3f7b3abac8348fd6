#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

// How predicted sets of classes fit the true ones, as scikit-learn computes it from indicator
// matrices. A class is predicted where its probability, sigmoid(logit), is over 0.5, and true where
// its target is.
class MultiLabelMetrics {
 public:
  explicit MultiLabelMetrics(int64_t num_labels);

  // One example: a logit and a target for each label.
  void add(std::span<const float> logits, std::span<const float> targets);

  int64_t examples() const { return examples_; }
  // Precision, recall, F1 and support of one label.
  const ClassCounts& of_label(int64_t label) const { return labels_[static_cast<size_t>(label)]; }

  // accuracy (the whole set is right), f1_micro (of all labels' counts together), f1_macro (the
  // mean over labels; one that neither occurs nor is predicted counts 0, as zero_division=0).
  std::map<std::string, double> metrics() const;

 private:
  std::vector<ClassCounts> labels_;
  int64_t examples_ = 0, right_ = 0;
};

// The logistic function in double precision.
double sigmoid(float logit);

}  // namespace berth
