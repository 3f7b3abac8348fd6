#include "entrypoint/report/html/training_curves.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/page.h"
#include "entrypoint/report/html/plots.h"
#include "storage/base/text.h"
#include "trainer/tasks/task_results.h"

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

// The middle of a bucket's updates.
double middle_of(const StepBucket& bucket) {
  return (static_cast<double>(bucket.first) + static_cast<double>(bucket.last)) / 2;
}

}  // namespace

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

namespace {

void add_marks(const JobHistory& history, LinePlot& plot) {
  for (const int64_t step : history.checkpoints) {
    plot.checkpoints.push_back(static_cast<double>(step));
  }
  for (const JobHistory::Attempt& attempt : history.attempts) {
    if (attempt.first_step > 0) plot.resumptions.push_back(static_cast<double>(attempt.first_step));
  }
}

void mark_best(const JobHistory& history, const std::string& metric, LinePlot& plot) {
  const JobHistory::Evaluation* const best = history.best();
  if (best == nullptr) return;
  const std::optional<double> value = history.value(*best, metric);
  if (!value) return;
  plot.best = PlotPoint{static_cast<double>(best->step), *value};
  plot.best_name = cat("best by ", history.metric, ", update ", whole_number(best->step));
}

LinePlot loss_plot(const JobHistory& history) {
  const StepCurve& curve = history.curve;
  LinePlot plot{.title = "Loss", .begins_at_zero = true};
  const bool is_raw = curve.width() == 1;
  if (!curve.buckets().empty()) {
    const bool is_smooth = smoothing_updates(curve) > curve.width();
    if (is_smooth) {
      plot.series.push_back(
          {.name = cat("training, mean of ", whole_number(smoothing_updates(curve)), " updates"),
           .colour = 0,
           .points = smoothed_loss(curve)});
    }
    PlotSeries raw{.name = is_raw ? "training, each update"
                                  : cat("training, each ", curve.width(), " updates"),
                   .colour = 0,
                   .is_faint = is_smooth};
    for (const StepBucket& bucket : curve.buckets()) {
      raw.points.push_back({middle_of(bucket), bucket.loss()});
    }
    plot.series.push_back(std::move(raw));
  }
  if (!is_raw) {
    plot.band_name = cat("least to most in ", whole_number(curve.width()), " updates");
    for (const StepBucket& bucket : curve.buckets()) {
      plot.band.push_back({middle_of(bucket), bucket.least_loss, bucket.most_loss});
    }
  }
  PlotSeries evaluation{.name = "evaluation",
                        .colour = 1,
                        .has_dots = true,
                        .points = evaluation_points(history, "loss")};
  if (!evaluation.points.empty()) plot.series.push_back(std::move(evaluation));
  mark_best(history, "loss", plot);
  add_marks(history, plot);
  return plot;
}

// Whether all points belong on an axis from 0 to 1, or from -1 to 1.
bool is_share(const PlotSeries& series) {
  return std::ranges::all_of(series.points,
                             [](const PlotPoint& point) { return std::abs(point.y) <= 1; });
}

// Metrics from 0 to 1 share a plot; the others have one each, as the mean squared error.
std::vector<LinePlot> metric_plots(const JobHistory& history,
                                   const std::optional<double>& majority_rate) {
  constexpr size_t kMostTogether = kPlotColours;
  if (history.evaluations.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : history.evaluations.back().metrics) names.push_back(name);
  std::stable_partition(names.begin(), names.end(),
                        [&](const auto& name) { return name == history.metric; });
  std::vector<LinePlot> plots;
  LinePlot together{.title = "Metrics on the evaluation data"};
  for (const std::string& name : names) {
    PlotSeries series{.name = name, .has_dots = true, .points = evaluation_points(history, name)};
    if (is_share(series) && !is_error_metric(name)) {
      if (together.series.size() == kMostTogether) continue;
      series.colour = static_cast<int>(together.series.size());
      together.series.push_back(std::move(series));
    } else {
      LinePlot alone{.title = name, .begins_at_zero = true};
      alone.series.push_back(std::move(series));
      if (name == history.metric) mark_best(history, name, alone);
      plots.push_back(std::move(alone));
    }
  }
  const bool has_accuracy = std::ranges::find(names, "accuracy") != names.end();
  if (has_accuracy && majority_rate) {
    together.baseline = majority_rate;
    together.baseline_name = "accuracy of the majority class";
  }
  const bool shows_main = std::ranges::any_of(
      together.series, [&](const PlotSeries& series) { return series.name == history.metric; });
  if (shows_main) mark_best(history, history.metric, together);
  if (!together.series.empty()) plots.insert(plots.begin(), std::move(together));
  for (LinePlot& plot : plots) add_marks(history, plot);
  return plots;
}

// The main scores of the probes. Those from 0 to 1 share a plot.
std::vector<LinePlot> probe_plots(const JobHistory& history) {
  std::vector<LinePlot> plots;
  LinePlot together{.title = "Probes"};
  for (const ProbeScore& score : probe_scores(history)) {
    PlotSeries series{.name = cat(score.first, ", ", score.second),
                      .has_dots = true,
                      .points = probe_points(history, score)};
    if (is_share(series) && !is_error_metric(score.second)) {
      series.colour = static_cast<int>(together.series.size());
      together.series.push_back(std::move(series));
    } else {
      LinePlot alone{.title = cat("Probe ", series.name), .begins_at_zero = true};
      alone.series.push_back(std::move(series));
      plots.push_back(std::move(alone));
    }
  }
  if (!together.series.empty()) plots.insert(plots.begin(), std::move(together));
  for (LinePlot& plot : plots) add_marks(history, plot);
  return plots;
}

}  // namespace

std::string curve_section(const JobHistory& history, const std::optional<double>& majority_rate) {
  std::string figures = figure(loss_plot(history));
  for (const LinePlot& plot : metric_plots(history, majority_rate)) figures += figure(plot);
  for (const LinePlot& plot : probe_plots(history)) figures += figure(plot);
  LinePlot rate{.title = "Learning rate", .begins_at_zero = true};
  PlotSeries rates{.name = "learning rate", .colour = 2};
  for (const StepBucket& bucket : history.curve.buckets()) {
    rates.points.push_back({static_cast<double>(bucket.last), bucket.learning_rate});
  }
  rate.series.push_back(std::move(rates));
  add_marks(history, rate);
  LinePlot speed{.title = "Throughput", .begins_at_zero = true};
  speed.series.push_back(
      {.name = "tokens/s in training steps", .colour = 3, .points = throughput(history.curve)});
  add_marks(history, speed);
  figures += figure(rate) + figure(speed);
  if (figures.empty()) return "";
  return section("Training", cat("<div class=\"plots\">\n", figures, "</div>\n"));
}

}  // namespace berth
