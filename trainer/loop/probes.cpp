#include "trainer/loop/probes.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

// "0.6100 at step 0"
std::string score_text(const ProbeReport& report) {
  return formatted("%.4f at step %lld", report.metrics.at(report.metric),
                   static_cast<long long>(report.step));
}

}  // namespace

bool ProbeRule::due(int64_t step, int64_t probed_step) const {
  if (probed_step == step) return false;
  if (probed_step < 0 || step == plan_.total_steps) return true;
  return step > 0 && probes_until(step) > probes_until(step - 1);
}

int64_t ProbeRule::probes_until(int64_t step) const {
  return every_ > 0 ? step / every_ : evaluations_until(options_, plan_, step);
}

int64_t ProbeRule::count() const {
  const int64_t last = plan_.total_steps;
  return 1 + probes_until(last) + (probes_until(last) > probes_until(last - 1) ? 0 : 1);
}

std::vector<std::string> probe_summaries(const std::vector<ProbeReport>& reports) {
  std::vector<std::string> summaries;
  std::vector<std::string> seen;
  for (const ProbeReport& first : reports) {
    if (std::ranges::find(seen, first.name) != seen.end()) continue;
    seen.push_back(first.name);
    const auto last = std::find_if(reports.rbegin(), reports.rend(), [&](const ProbeReport& other) {
      return other.name == first.name && other.metric == first.metric;
    });
    std::string text = cat("probe ", first.name, ": ", first.metric, " ", score_text(first));
    if (last->step != first.step) text += cat(", ", score_text(*last));
    summaries.push_back(std::move(text));
  }
  return summaries;
}

}  // namespace berth
