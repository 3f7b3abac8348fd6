#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace berth {

// Counts of (true class, predicted class) and what follows from them.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t num_classes);

  // One example; the prediction is the largest logit, the lower class on a tie.
  void add(std::span<const float> logits, int32_t label);

  int64_t examples() const { return examples_; }
  // accuracy; two classes: precision, recall and f1 of class 1; more: f1_macro (a class that
  // neither occurs nor is predicted counts 0, as scikit-learn's zero_division=0).
  std::map<std::string, double> metrics() const;
  // The accuracy of always answering the most frequent true class.
  double majority_rate() const;

 private:
  int64_t count(int64_t truth, int64_t prediction) const {
    return counts_[static_cast<size_t>(truth * num_classes_ + prediction)];
  }
  int64_t true_total(int64_t label) const;
  int64_t predicted_total(int64_t label) const;

  int64_t num_classes_, examples_ = 0;
  std::vector<int64_t> counts_;
};

// The largest value's index, the lowest on a tie.
int64_t argmax(std::span<const float> values);

// Softmax in double precision.
std::vector<double> softmax(std::span<const float> logits);

}  // namespace berth
