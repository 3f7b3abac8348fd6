#include "trainer/metrics/calibration.h"

#include <algorithm>
#include <cmath>

namespace berth {

void Calibration::add(double probability, bool is_right) {
  if (!std::isfinite(probability)) return;
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(kBins);
  Bin& bin = bins_[std::min(static_cast<size_t>(place), kBins - 1)];
  ++bin.count;
  bin.right += is_right ? 1 : 0;
  bin.probabilities += probability;
  ++predictions_;
}

double Calibration::error() const {
  if (predictions_ == 0) return 0;
  double error = 0;
  for (const Bin& bin : bins_) {
    error += static_cast<double>(bin.count) * std::abs(bin.confidence() - bin.accuracy());
  }
  return error / static_cast<double>(predictions_);
}

}  // namespace berth
