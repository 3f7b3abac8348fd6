#include "entrypoint/report/profile_report.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "entrypoint/report/bar_line.h"
#include "storage/base/counted.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kShown = 10;

double seconds_of(const ProfileSpan& span) {
  return 1e-9 * static_cast<double>(span.end_ns - span.begin_ns);
}

// Updates, and the seconds from the first one's beginning to the last one's end.
struct Updates {
  size_t count = 0;
  double seconds = 0, busy_s = 0;  // busy: inside of updates
};

Updates updates_of(const Profiler& profiler) {
  Updates updates;
  int64_t begin_ns = 0, end_ns = 0;
  for (const ProfileSpan& span : profiler.of_caller()) {
    if (span.depth > 0) continue;
    if (updates.count++ == 0) begin_ns = span.begin_ns;
    end_ns = span.end_ns;
    updates.busy_s += seconds_of(span);
  }
  updates.seconds = 1e-9 * static_cast<double>(end_ns - begin_ns);
  return updates;
}

// "thread 0 97 %, thread 1 95 %": how much of the time each thread computed.
std::string busy_text(const Profiler& profiler, double all_s) {
  std::string text;
  for (size_t thread = 0; thread < profiler.threads(); ++thread) {
    double busy_s = 0;
    for (const ProfileSpan& part : profiler.of_thread(thread)) busy_s += seconds_of(part);
    text += cat(thread == 0 ? "" : ", ", "thread ", thread,
                number_text(" %.0f %%", 100 * busy_s / all_s));
  }
  return text;
}

}  // namespace

std::vector<ProfileCost> profile_costs(const Profiler& profiler) {
  std::map<std::string_view, ProfileCost> costs;
  const std::vector<ProfileSpan>& spans = profiler.of_caller();
  std::vector<const ProfileSpan*> around;  // the spans that are open, by depth
  for (const ProfileSpan& span : spans) {
    around.resize(static_cast<size_t>(span.depth));
    ProfileCost& cost = costs[span.name];
    ++cost.calls;
    cost.seconds += seconds_of(span);
    cost.flops += span.flops;
    cost.bytes += span.bytes;
    if (!around.empty()) {
      ProfileCost& outer = costs[around.back()->name];
      outer.seconds -= seconds_of(span);
      outer.flops -= span.flops;
    }
    around.push_back(&span);
  }
  std::vector<ProfileCost> sorted;
  for (auto& [name, cost] : costs) {
    cost.name = name;
    sorted.push_back(std::move(cost));
  }
  std::ranges::stable_sort(sorted, std::greater(), &ProfileCost::seconds);
  return sorted;
}

std::vector<std::string> profile_lines(const Profiler& profiler, double peak_flops) {
  const Updates updates = updates_of(profiler);
  if (updates.count == 0) return {"profile: no update was recorded"};
  const auto count = static_cast<double>(updates.count);
  std::vector<std::string> lines;
  lines.push_back(cat("profile of ", counted(static_cast<int64_t>(updates.count), "update"), ", ",
                      number_text("%.4g", updates.seconds / count), " s each",
                      profiler.threads() > 0 ? "; busy: " : "",
                      busy_text(profiler, updates.seconds),
                      profiler.is_full() ? " (the record was full before the end)" : ""));
  lines.push_back(
      "  share   ms/update  calls/update  GFLOP/s  of peak     GB/s  operation or phase");
  for (const ProfileCost& cost : profile_costs(profiler)) {
    if (lines.size() == 2 + kShown) break;
    const bool has_flops = cost.flops > 0 && cost.seconds > 0;
    const bool has_bytes = cost.bytes > 0 && cost.seconds > 0;
    const double rate = has_flops ? cost.flops / cost.seconds : 0;
    lines.push_back(cat(
        number_text("%5.1f %%", 100 * cost.seconds / updates.busy_s),
        number_text("%12.3f", 1e3 * cost.seconds / count),
        number_text("%14.1f", static_cast<double>(cost.calls) / count),
        has_flops ? number_text("%9.3g", rate * 1e-9) : std::string(9, ' '),
        has_flops && peak_flops > 0 ? number_text("%7.0f %%", 100 * rate / peak_flops)
                                    : std::string(9, ' '),
        has_bytes ? number_text("%9.3g", cost.bytes / cost.seconds * 1e-9) : std::string(9, ' '),
        "  ", cost.name));
  }
  return lines;
}

}  // namespace berth
