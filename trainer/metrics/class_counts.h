#pragma once

#include <cstdint>

namespace berth {

// part / whole; 0 of nothing, as scikit-learn's zero_division=0.
inline double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// How often a class was predicted, how often it is the truth, how often both; van Rijsbergen 1979.
// Rates of a class that was not predicted, or does not occur, are 0.
struct ClassCounts {
  int64_t true_positives = 0, predicted = 0, support = 0;

  double precision() const { return ratio(true_positives, predicted); }
  double recall() const { return ratio(true_positives, support); }
  double f1() const { return ratio(2 * true_positives, predicted + support); }

  ClassCounts& operator+=(const ClassCounts& other) {
    true_positives += other.true_positives;
    predicted += other.predicted;
    support += other.support;
    return *this;
  }
};

}  // namespace berth
