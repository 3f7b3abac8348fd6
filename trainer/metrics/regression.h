#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth {

// How predicted numbers fit the true ones, as scipy.stats computes it. Keeps both of each example:
// ranks need all of them.
class RegressionMetrics {
 public:
  void add(double prediction, double truth);

  size_t examples() const { return truths_.size(); }

  // Of no examples all are 0. NaN among the numbers makes all NaN.

  // The mean squared error.
  double mse() const;
  // Pearson 1895; 0, where scipy says NaN, when the predictions or the truths are all alike.
  double pearson() const;
  // Spearman 1904: Pearson's of the ranks, equal values having the mean of theirs; 0 as above.
  double spearman() const;

  // mse, pearson, spearman.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<double> predictions_, truths_;
};

}  // namespace berth
