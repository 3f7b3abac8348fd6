#pragma once

#include <cstddef>
#include <vector>

namespace berth {

// The probability above which a label of a set is predicted, unless something says otherwise.
inline constexpr double kUsualThreshold = 0.5;

// The thresholds of a set's labels: given ones, or the ones that fit an evaluation best.
struct LabelThresholds {
  enum class Choice {
    kGiven,
    kBestForAll,   // one for all labels, with the largest F1 over all rows and labels (f1_micro)
    kBestForEach,  // one for each label, with the label's largest F1
  };

  Choice choice = Choice::kGiven;
  std::vector<double> given{};  // one for each label; empty: kUsualThreshold

  double of_label(size_t label) const { return given.empty() ? kUsualThreshold : given[label]; }
};

// Whether a label is predicted: its probability, sigmoid(logit), is above the threshold.
bool is_predicted(float logit, double threshold);

// The logit of a label in a row, and whether the row has the label.
struct LabelledLogit {
  float logit = 0;
  bool is_true = false;
};

// The threshold with the largest F1. It lies in the middle between the probabilities of two
// neighbours in `logits`, so that rounding does not move a row across it. Where several thresholds
// are best, it is the one that is next to 0.5, or 0.5 itself. Logits that are not numbers are left
// out. 0.5 where no row has the label.
double best_threshold(std::vector<LabelledLogit> logits);

}  // namespace berth
