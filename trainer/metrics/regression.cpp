#include "trainer/metrics/regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace berth {
namespace {

bool has_nan(const std::vector<double>& x) {
  return std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
}

bool all_alike(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; });
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  if (has_nan(x) || has_nan(y)) return std::numeric_limits<double>::quiet_NaN();
  // Compares the values themselves. If all are equal, their distances from the rounded mean need
  // not be 0.
  if (all_alike(x) || all_alike(y)) return 0;
  const double mean_x = mean(x), mean_y = mean(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

// Ranks from 1; equal values share the mean of their ranks. No value may be NaN.
std::vector<double> ranks(const std::vector<double>& x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> ranks(x.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

void RegressionMetrics::add(double prediction, double truth) {
  predictions_.push_back(prediction);
  truths_.push_back(truth);
}

double RegressionMetrics::mse() const {
  double sum = 0;
  for (size_t i = 0; i < truths_.size(); ++i) {
    sum += (predictions_[i] - truths_[i]) * (predictions_[i] - truths_[i]);
  }
  return truths_.empty() ? 0 : sum / static_cast<double>(truths_.size());
}

double RegressionMetrics::pearson() const { return correlation(predictions_, truths_); }

double RegressionMetrics::spearman() const {
  if (has_nan(predictions_) || has_nan(truths_)) return std::numeric_limits<double>::quiet_NaN();
  return correlation(ranks(predictions_), ranks(truths_));
}

std::map<std::string, double> RegressionMetrics::metrics() const {
  return {{"mse", mse()}, {"pearson", pearson()}, {"spearman", spearman()}};
}

}  // namespace berth
