#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "entrypoint/report/html/job_history.h"
#include "entrypoint/report/html/plots.h"

namespace berth {

// What plots of a history show.

// The mean of the loss around each bucket that has enough neighbours on both sides. It does not lag
// behind, as an exponential moving average would.
std::vector<PlotPoint> smoothed_loss(const StepCurve& curve);
// The number of updates in each of these means; the width of a bucket if the curve is too short.
int64_t smoothing_updates(const StepCurve& curve);

// The mean loss at the end of a curve: over as many updates as such a mean, and over at least 10 if
// the curve has 10. The curve must have an update.
struct RecentLoss {
  double loss = 0;
  int64_t updates = 0;
};
RecentLoss recent_loss(const StepCurve& curve);
// Tokens a second, each point over about one hundredth of the updates.
std::vector<PlotPoint> throughput(const StepCurve& curve);
// A metric, or "loss", of each evaluation that has it.
std::vector<PlotPoint> evaluation_points(const JobHistory& history, const std::string& metric);

// A probe and the name of its main score.
using ProbeScore = std::pair<std::string, std::string>;
// The probe scores of the history, in the order of their names.
std::set<ProbeScore> probe_scores(const JobHistory& history);
std::vector<PlotPoint> probe_points(const JobHistory& history, const ProbeScore& score);

}  // namespace berth
