#include "entrypoint/report/html/training_curves.h"

#include <algorithm>
#include <span>

namespace berth {
namespace {

// How many buckets on each side a mean is over, so that it is over about one twelfth of the curve.
// 0: the curve is too short for means.
size_t reach_of(const StepCurve& curve) {
  constexpr size_t kFewest = 12;
  const size_t count = curve.buckets().size();
  return count < kFewest ? 0 : std::max<size_t>(1, count / kFewest / 2);
}

// The mean loss of neighbouring buckets. A small update counts as much as its examples.
double mean_of(std::span<const StepBucket> buckets) {
  double loss = 0, weight = 0;
  for (const StepBucket& bucket : buckets) {
    const double examples = bucket.examples > 0 ? bucket.examples : 1;
    loss += bucket.loss() * examples;
    weight += examples;
  }
  return loss / weight;
}

}  // namespace

double middle_of(const StepBucket& bucket) {
  return (static_cast<double>(bucket.first) + static_cast<double>(bucket.last)) / 2;
}

int64_t smoothing_updates(const StepCurve& curve) {
  return static_cast<int64_t>(2 * reach_of(curve) + 1) * curve.width();
}

std::vector<PlotPoint> smoothed_loss(const StepCurve& curve) {
  const std::vector<StepBucket>& buckets = curve.buckets();
  const size_t reach = reach_of(curve);
  std::vector<PlotPoint> points;
  // Every point is the mean of the same number of buckets on both sides. So the curve begins and
  // ends where both sides have enough buckets.
  for (size_t i = reach; i + reach < buckets.size(); ++i) {
    points.push_back(
        {middle_of(buckets[i]), mean_of(std::span(buckets).subspan(i - reach, 2 * reach + 1))});
  }
  return points;
}

RecentLoss recent_loss(const StepCurve& curve) {
  constexpr int64_t kFewestUpdates = 10;
  const std::span<const StepBucket> buckets = curve.buckets();
  const int64_t wanted = std::max(kFewestUpdates, smoothing_updates(curve));
  size_t first = buckets.size();
  RecentLoss recent;
  while (first > 0 && recent.updates < wanted) recent.updates += buckets[--first].updates;
  recent.loss = mean_of(buckets.subspan(first));
  return recent;
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
