#include "trainer/metrics/classification.h"

#include <algorithm>
#include <cmath>

namespace berth {

int64_t argmax(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

std::vector<double> softmax(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - largest));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

ConfusionMatrix::ConfusionMatrix(int64_t num_classes)
    : num_classes_(num_classes), counts_(static_cast<size_t>(num_classes * num_classes)) {}

void ConfusionMatrix::add(std::span<const float> logits, int32_t label) {
  ++counts_[static_cast<size_t>(label * num_classes_ + argmax(logits))];
  ++examples_;
}

ClassCounts ConfusionMatrix::of_class(int64_t label) const {
  ClassCounts counts{.true_positives = count(label, label)};
  for (int64_t other = 0; other < num_classes_; ++other) {
    counts.support += count(label, other);
    counts.predicted += count(other, label);
  }
  return counts;
}

int64_t ConfusionMatrix::correct() const {
  int64_t correct = 0;
  for (int64_t label = 0; label < num_classes_; ++label) correct += count(label, label);
  return correct;
}

std::map<std::string, double> ConfusionMatrix::metrics() const {
  std::map<std::string, double> metrics = {{"accuracy", ratio(correct(), examples_)}};
  if (num_classes_ == 2) {
    const ClassCounts second = of_class(1);
    metrics["precision"] = second.precision();
    metrics["recall"] = second.recall();
    metrics["f1"] = second.f1();
    metrics["matthews_correlation"] = matthews_correlation();
  } else {
    double sum = 0;
    int64_t seen = 0;
    for (int64_t label = 0; label < num_classes_; ++label) {
      const ClassCounts counts = of_class(label);
      if (counts.support + counts.predicted == 0) continue;
      sum += counts.f1();
      ++seen;
    }
    metrics["f1_macro"] = seen == 0 ? 0 : sum / static_cast<double>(seen);
  }
  return metrics;
}

double ConfusionMatrix::matthews_correlation() const {
  const auto all = static_cast<double>(examples_);
  double both = static_cast<double>(correct()) * all, of_truth = all * all,
         of_prediction = all * all;
  for (int64_t label = 0; label < num_classes_; ++label) {
    const ClassCounts counts = of_class(label);
    const auto truth = static_cast<double>(counts.support);
    const auto prediction = static_cast<double>(counts.predicted);
    both -= truth * prediction;
    of_truth -= truth * truth;
    of_prediction -= prediction * prediction;
  }
  const double product = of_truth * of_prediction;
  return product == 0 ? 0 : both / std::sqrt(product);
}

double ConfusionMatrix::majority_rate() const {
  int64_t largest = 0;
  for (int64_t label = 0; label < num_classes_; ++label) {
    largest = std::max(largest, of_class(label).support);
  }
  return ratio(largest, examples_);
}

}  // namespace berth
