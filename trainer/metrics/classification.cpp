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
    : classes_(static_cast<size_t>(num_classes)) {}

void ConfusionMatrix::add(std::span<const float> logits, int32_t label) {
  const int64_t prediction = argmax(logits);
  ++counts_[{label, prediction}];
  ++classes_[static_cast<size_t>(label)].support;
  ++classes_[static_cast<size_t>(prediction)].predicted;
  classes_[static_cast<size_t>(label)].true_positives += label == prediction;
  ++examples_;
}

int64_t ConfusionMatrix::count(int64_t truth, int64_t prediction) const {
  const auto found = counts_.find({truth, prediction});
  return found != counts_.end() ? found->second : 0;
}

int64_t ConfusionMatrix::correct() const {
  int64_t correct = 0;
  for (const ClassCounts& counts : classes_) correct += counts.true_positives;
  return correct;
}

std::map<std::string, double> ConfusionMatrix::metrics() const {
  std::map<std::string, double> metrics = {{"accuracy", ratio(correct(), examples_)}};
  if (num_classes() == 2) {
    const ClassCounts& second = of_class(1);
    metrics["precision"] = second.precision();
    metrics["recall"] = second.recall();
    metrics["f1"] = second.f1();
    metrics["matthews_correlation"] = matthews_correlation();
  } else {
    double sum = 0;
    int64_t seen = 0;
    for (const ClassCounts& counts : classes_) {
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
  for (const ClassCounts& counts : classes_) {
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
  for (const ClassCounts& counts : classes_) largest = std::max(largest, counts.support);
  return ratio(largest, examples_);
}

}  // namespace berth
