#include "entrypoint/report/usage_meter.h"

#include <algorithm>
#include <utility>

#include "storage/base/memory_limit.h"
#include "storage/base/thread_pool.h"

namespace berth {

UsageSource usage_of_this_process() {
  const std::optional<MemoryLimit> limit = memory_limit();
  return {.usage = [] { return process_usage(); },
          .cpus = available_threads(),
          .memory_limit_bytes = limit ? limit->size_bytes : 0};
}

UsageMeter::UsageMeter(UsageSource source, Clock steady_clock)
    : source_(std::move(source)), clock_(std::move(steady_clock)) {
  if (!source_.usage) return;
  first_ = last_ = source_.usage();
  last_s_ = clock_();
}

std::optional<UsageMeter::Reading> UsageMeter::read() {
  if (!source_.usage) return std::nullopt;
  const ProcessUsage now = source_.usage();
  const double now_s = clock_();
  Reading reading{.resident_bytes = now.resident_bytes,
                  .peak_resident_bytes = now.peak_resident_bytes};
  const double had_s = (now_s - last_s_) * source_.cpus;
  if (had_s > 0) reading.cpu_share = std::clamp((now.cpu_s - last_.cpu_s) / had_s, 0.0, 1.0);
  if (now.throttled_s && first_.throttled_s) {
    reading.throttled_s = *now.throttled_s - *first_.throttled_s;
  }
  if (source_.memory_limit_bytes > 0) {
    reading.memory_share =
        static_cast<double>(now.resident_bytes) / static_cast<double>(source_.memory_limit_bytes);
  }
  last_ = now;
  last_s_ = now_s;
  return reading;
}

}  // namespace berth
