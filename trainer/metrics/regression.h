#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth {

// Scores predicted numbers against the true ones, as scipy.stats does. Keeps all of them, since
// ranks need all. Not thread-safe.
class RegressionMetrics {
 public:
  void add(double prediction, double truth);

  size_t examples() const { return truths_.size(); }

  // Each is 0 where there are no examples, and NaN where any of the numbers is.

  // The mean squared error.
  double mse() const;
  // Pearson's correlation (1895). 0 where the predictions or the truths are all equal; scipy
  // returns NaN there.
  double pearson() const;
  // Spearman's correlation (1904): Pearson's of the ranks, where equal values share the mean of
  // their ranks. 0 as above.
  double spearman() const;

  // mse, pearson, spearman.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<double> predictions_, truths_;
};

}  // namespace berth
