#include "storage/base/available_threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include "storage/base/cgroup.h"
#include "storage/base/thread_pool.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Returns quota / period if both are positive numbers. "max" and -1 mean that there is no limit.
std::optional<double> ratio(const std::string& quota, const std::string& period) {
  double quota_us = 0, period_us = 0;
  try {
    quota_us = std::stod(quota);
    period_us = std::stod(period);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (!(quota_us > 0) || !(period_us > 0)) return std::nullopt;
  return quota_us / period_us;
}

std::optional<double> cpu_limit_of(const fs::path& group, CgroupVersion version) {
  if (version == CgroupVersion::kV1) {
    return ratio(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
  }
  const std::string line = first_line(group / "cpu.max");  // "150000 100000" or "max 100000"
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return ratio(line.substr(0, space), line.substr(space + 1));
}

int affinity_count() {
  // The kernel's mask may be larger than cpu_set_t, so larger masks are tried in turn.
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(cpus)),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t size_bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    if (set && sched_getaffinity(0, size_bytes, set.get()) == 0) {
      return CPU_COUNT_S(size_bytes, set.get());
    }
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> cgroup_cpu_limit(const fs::path& root) {
  return least_cgroup_limit(root, "cpu", cpu_limit_of);
}

int available_threads() {
  int threads = affinity_count();
  if (const std::optional<double> limit = cgroup_cpu_limit()) {
    threads = static_cast<int>(std::min<double>(threads, std::ceil(*limit)));
  }
  return std::max(1, threads);
}

}  // namespace berth
