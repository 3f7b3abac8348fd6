#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth {

// How reliable the probabilities of predictions are (Guo et al. 2017, arXiv:1706.04599).
// Predictions are put into ten bins of equal width by their probability. Each bin compares the mean
// probability with the share of predictions that are right. Not thread-safe.
class Calibration {
 public:
  static constexpr size_t kBins = 10;
  struct Bin {
    int64_t count = 0, right = 0;
    double probabilities = 0;  // their sum

    double confidence() const {
      return count == 0 ? 0 : probabilities / static_cast<double>(count);
    }
    double accuracy() const {
      return count == 0 ? 0 : static_cast<double>(right) / static_cast<double>(count);
    }
  };

  // Adds one prediction and the probability that the model gives it, from 0 to 1. NaN is not
  // counted.
  void add(double probability, bool is_right);

  int64_t predictions() const { return predictions_; }
  // Bin i has the probabilities from i/10 up to, and without, (i+1)/10; the last one has 1, too.
  const std::array<Bin, kBins>& bins() const { return bins_; }
  // The expected calibration error: the mean over all predictions of the distance between their
  // bin's confidence and accuracy. 0 where there are none.
  double error() const;

 private:
  std::array<Bin, kBins> bins_{};
  int64_t predictions_ = 0;
};

}  // namespace berth
