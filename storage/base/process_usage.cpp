#include "storage/base/process_usage.h"

#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <string>

#include "storage/base/cgroup.h"
#include "storage/base/memory_limit.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Reads the line "throttled_usec 1500" of cpu.stat (v2), or "throttled_time 1500000" (v1, in ns).
std::optional<double> throttled_s_of(const fs::path& group, CgroupVersion version) {
  const bool is_v2 = version == CgroupVersion::kV2;
  std::ifstream in(group / "cpu.stat");
  double value = 0;
  for (std::string name; in >> name >> value;) {
    if (name == (is_v2 ? "throttled_usec" : "throttled_time")) return value * (is_v2 ? 1e-6 : 1e-9);
  }
  return std::nullopt;
}

// The longest time of all groups: a thread waits for the group that is most behind.
std::optional<double> longest_throttled_s(const fs::path& root) {
  const auto negative = [](const fs::path& group, CgroupVersion version) -> std::optional<double> {
    const std::optional<double> throttled_s = throttled_s_of(group, version);
    if (!throttled_s) return std::nullopt;
    return -*throttled_s;
  };
  const std::optional<double> least = least_cgroup_limit(root, "cpu", negative);
  if (!least) return std::nullopt;
  return -*least + 0.0;  // no negative zero
}

}  // namespace

ProcessUsage process_usage(const fs::path& root) {
  ProcessUsage usage;
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0) {
    usage.cpu_s = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    usage.peak_resident_bytes = static_cast<uint64_t>(used.ru_maxrss) << 10;
  }
  usage.resident_bytes = resident_bytes();
  usage.throttled_s = longest_throttled_s(root);
  return usage;
}

}  // namespace berth
