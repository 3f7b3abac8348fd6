#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/tasks/evaluation_details.h"

namespace berth {

// The worst of the wrong predictions of an evaluation: at most kMost, whatever the number of rows.
// If mistakes are equally bad, the first ones stay. Not thread-safe.
class WorstMistakes {
 public:
  static constexpr size_t kMost = 40;
  static constexpr size_t kTextBytes = 600;  // the longest stored text of a row

  // Whether a mistake of this badness would be stored. Callers check this before they name truth
  // and prediction. NaN is never stored.
  bool wants(double badness) const;
  // Adds the mistake in the features at `index`. It concerns the word number `word` of the row, or
  // all of it.
  void add(double badness, int64_t index, std::string truth, std::string prediction,
           int64_t word = -1);

  // The mistakes, the worst first, with the texts of their rows.
  std::vector<Mistake> with_texts(const Dataset& data) const;

 private:
  struct Found {
    double badness;
    int64_t index, word;
    std::string truth, prediction;
  };
  static bool is_worse(const Found& a, const Found& b);

  std::vector<Found> found_;  // a heap, on top of which is the least bad one
};

}  // namespace berth
