#include "entrypoint/report/html/training_curves.h"

#include <algorithm>
#include <cmath>

namespace berth {
namespace {

// A mean is over one twelfth of the curve.
double smoothing_buckets(const StepCurve& curve) {
  return std::max(1.0, static_cast<double>(curve.buckets().size()) / 12);
}

}  // namespace

double middle_of(const StepBucket& bucket) {
  return (static_cast<double>(bucket.first) + static_cast<double>(bucket.last)) / 2;
}

int64_t smoothing_updates(const StepCurve& curve) {
  return std::llround(smoothing_buckets(curve) * static_cast<double>(curve.width()));
}

std::vector<PlotPoint> smoothed_loss(const StepCurve& curve) {
  const std::vector<StepBucket>& buckets = curve.buckets();
  const auto around = static_cast<size_t>(smoothing_buckets(curve) / 2);
  std::vector<PlotPoint> points;
  for (size_t i = 0; i < buckets.size(); ++i) {
    // The same number on both sides, so that a falling curve is not shifted at its ends.
    const size_t reach = std::min({around, i, buckets.size() - 1 - i});
    double loss = 0, updates = 0;
    for (size_t at = i - reach; at <= i + reach; ++at) {
      loss += buckets[at].loss_sum;
      updates += static_cast<double>(buckets[at].updates);
    }
    points.push_back({middle_of(buckets[i]), loss / updates});
  }
  return points;
}

std::vector<PlotPoint> throughput(const StepCurve& curve) {
  constexpr size_t kPoints = 100;
  const std::vector<StepBucket>& buckets = curve.buckets();
  const size_t together = std::max<size_t>(1, buckets.size() / kPoints);
  std::vector<PlotPoint> points;
  for (size_t begin = 0; begin < buckets.size(); begin += together) {
    const size_t end = std::min(begin + together, buckets.size());
    double tokens = 0, seconds = 0;
    for (size_t i = begin; i < end; ++i) {
      tokens += buckets[i].tokens;
      seconds += buckets[i].seconds;
    }
    const double middle = (middle_of(buckets[begin]) + middle_of(buckets[end - 1])) / 2;
    if (seconds > 0) points.push_back({middle, tokens / seconds});
  }
  return points;
}

std::vector<PlotPoint> evaluation_points(const JobHistory& history, const std::string& metric) {
  std::vector<PlotPoint> points;
  for (const JobHistory::Evaluation& evaluation : history.evaluations) {
    const std::optional<double> value = history.value(evaluation, metric);
    if (value) points.push_back({static_cast<double>(evaluation.step), *value});
  }
  return points;
}

std::set<ProbeScore> probe_scores(const JobHistory& history) {
  std::set<ProbeScore> scores;
  for (const JobHistory::Probe& probe : history.probes) scores.emplace(probe.name, probe.metric);
  return scores;
}

std::vector<PlotPoint> probe_points(const JobHistory& history, const ProbeScore& score) {
  std::vector<PlotPoint> points;
  for (const JobHistory::Probe& probe : history.probes) {
    const bool is_it = probe.name == score.first && probe.metric == score.second;
    if (is_it) points.push_back({static_cast<double>(probe.step), probe.value});
  }
  return points;
}

}  // namespace berth
