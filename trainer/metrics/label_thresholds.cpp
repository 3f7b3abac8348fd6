#include "trainer/metrics/label_thresholds.h"

#include <algorithm>
#include <cmath>

#include "trainer/metrics/metrics.h"

namespace berth {
namespace {

// A threshold in [low, high), which all probabilities from `high` on are above.
double threshold_between(double low, double high) {
  if (low <= kUsualThreshold && kUsualThreshold < high) return kUsualThreshold;
  const double middle = low + (high - low) / 2;
  return middle < high ? middle : low;
}

double distance_from_usual(double threshold) { return std::abs(threshold - kUsualThreshold); }

}  // namespace

bool is_predicted(float logit, double threshold) {
  return threshold == kUsualThreshold ? logit > 0 : sigmoid(logit) > threshold;
}

double best_threshold(std::vector<LabelledLogit> logits) {
  std::erase_if(logits, [](const LabelledLogit& each) { return std::isnan(each.logit); });
  std::ranges::sort(logits, std::ranges::greater(), &LabelledLogit::logit);
  ClassCounts counts{.support = std::ranges::count(logits, true, &LabelledLogit::is_true)};
  double best = kUsualThreshold, best_f1 = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    ++counts.predicted;
    counts.true_positives += logits[i].is_true ? 1 : 0;
    const double probability = sigmoid(logits[i].logit);
    const double next = i + 1 < logits.size() ? sigmoid(logits[i + 1].logit) : 0;
    if (!(next < probability)) continue;  // no threshold lies between them
    const double threshold = threshold_between(next, probability), f1 = counts.f1();
    const bool is_nearer = distance_from_usual(threshold) < distance_from_usual(best);
    if (f1 > best_f1 || (f1 == best_f1 && f1 > 0 && is_nearer)) {
      best = threshold;
      best_f1 = f1;
    }
  }
  return best;
}

}  // namespace berth
