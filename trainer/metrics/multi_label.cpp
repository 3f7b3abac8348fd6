#include "trainer/metrics/multi_label.h"

#include <cassert>
#include <cmath>

namespace berth {

double sigmoid(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

MultiLabelMetrics::MultiLabelMetrics(int64_t num_labels)
    : labels_(static_cast<size_t>(num_labels)) {}

void MultiLabelMetrics::add(std::span<const float> logits, std::span<const float> targets) {
  assert(logits.size() == labels_.size() && targets.size() == labels_.size());
  bool right = true;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const bool predicted = logits[i] > 0, truth = targets[i] > 0.5f;
    labels_[i] += {.true_positives = predicted && truth, .predicted = predicted, .support = truth};
    right = right && predicted == truth;
  }
  ++examples_;
  right_ += right;
}

std::map<std::string, double> MultiLabelMetrics::metrics() const {
  ClassCounts together;
  double sum = 0;
  for (const ClassCounts& label : labels_) {
    together += label;
    sum += label.f1();
  }
  return {{"accuracy", ratio(right_, examples_)},
          {"f1_micro", together.f1()},
          {"f1_macro", labels_.empty() ? 0 : sum / static_cast<double>(labels_.size())}};
}

}  // namespace berth
