#pragma once

#include <vector>

namespace berth {

// The area under the receiver operating characteristic: the probability that a positive example has
// a higher logit than a negative one, where a tie counts half (sklearn.metrics.roc_auc_score). So
// that memory does not grow with the examples, logits are rounded to one of 65,536 steps between
// -16 and 16. Not thread-safe.
class RocArea {
 public:
  RocArea();

  void add(float logit, bool is_positive, double weight = 1);
  // 0.5 where all examples are positive or all are negative.
  double area() const;

 private:
  std::vector<double> positive_, negative_;  // the weight in each step
};

}  // namespace berth
