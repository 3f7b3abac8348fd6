#pragma once

#include <cstdint>

namespace berth {

// part / whole; 0 where the whole is 0, as scikit-learn computes it with zero_division=0.
inline double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Counts of one class, and the rates that follow from them (van Rijsbergen 1979). `predicted`
// counts examples that were predicted to be of the class, and `support` counts examples that are.
// `true_positives` counts examples for which both hold. The precision of a class that was never
// predicted is 0, and so is the recall of a class that does not occur.
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
