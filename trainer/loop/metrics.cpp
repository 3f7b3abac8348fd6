#include "trainer/loop/metrics.h"

#include <algorithm>
#include <cmath>

namespace berth {
namespace {

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

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

int64_t ConfusionMatrix::true_total(int64_t label) const {
  int64_t total = 0;
  for (int64_t other = 0; other < num_classes_; ++other) total += count(label, other);
  return total;
}

int64_t ConfusionMatrix::predicted_total(int64_t label) const {
  int64_t total = 0;
  for (int64_t other = 0; other < num_classes_; ++other) total += count(other, label);
  return total;
}

std::map<std::string, double> ConfusionMatrix::metrics() const {
  int64_t correct = 0;
  double f1_sum = 0;
  const auto f1 = [this](int64_t label) {
    return ratio(2 * count(label, label), true_total(label) + predicted_total(label));
  };
  for (int64_t label = 0; label < num_classes_; ++label) {
    correct += count(label, label);
    f1_sum += f1(label);
  }
  std::map<std::string, double> metrics = {{"accuracy", ratio(correct, examples_)}};
  if (num_classes_ == 2) {
    metrics["precision"] = ratio(count(1, 1), predicted_total(1));
    metrics["recall"] = ratio(count(1, 1), true_total(1));
    metrics["f1"] = f1(1);
  } else {
    metrics["f1_macro"] = f1_sum / static_cast<double>(num_classes_);
  }
  return metrics;
}

double ConfusionMatrix::majority_rate() const {
  int64_t largest = 0;
  for (int64_t label = 0; label < num_classes_; ++label) {
    largest = std::max(largest, true_total(label));
  }
  return ratio(largest, examples_);
}

}  // namespace berth
