#include "trainer/kernels/available_threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "trainer/kernels/thread_pool.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// quota / period, where both are numbers above zero; "max" and -1 mean no limit.
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

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<double> limit_of(const fs::path& group, bool v2) {
  if (!v2) {
    return ratio(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
  }
  const std::string line = first_line(group / "cpu.max");  // "150000 100000" or "max 100000"
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return ratio(line.substr(0, space), line.substr(space + 1));
}

// The smallest limit of mount/path and of every group above it, up to the mount point. A container
// that sees the host's path but only its own groups has just the mount point, which counts too.
std::optional<double> limit_along(const fs::path& mount, const fs::path& path, bool v2) {
  std::optional<double> least = limit_of(mount, v2);
  fs::path group = mount;
  for (const fs::path& part : path.relative_path()) {
    if (part == "..") break;  // above the namespace's root: not ours to see
    group /= part;
    const std::optional<double> limit = limit_of(group, v2);
    if (limit && (!least || *limit < *least)) least = limit;
  }
  return least;
}

// Whether "cpu,cpuacct" lists "cpu".
bool lists_cpu(const std::string& controllers) {
  return (',' + controllers + ',').find(",cpu,") != std::string::npos;
}

int affinity_count() {
  // The kernel's mask may be wider than cpu_set_t; ask with ever larger ones.
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
  std::optional<double> least;
  const auto consider = [&](const fs::path& mount, const fs::path& path, bool v2) {
    const std::optional<double> limit = limit_along(mount, path, v2);
    if (limit && (!least || *limit < *least)) least = limit;
  };
  // "0::/pod/container" (v2), "4:cpu,cpuacct:/docker/1234" (v1).
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controllers.empty()) {
      consider(root / "sys/fs/cgroup", path, true);
      consider(root / "sys/fs/cgroup/unified", path, true);
    } else if (lists_cpu(controllers)) {
      for (const char* mount : {"cpu", "cpu,cpuacct", "cpuacct,cpu"}) {
        consider(root / "sys/fs/cgroup" / mount, path, false);
      }
    }
  }
  return least;
}

int available_threads() {
  int threads = affinity_count();
  if (const std::optional<double> limit = cgroup_cpu_limit()) {
    threads = static_cast<int>(std::min<double>(threads, std::ceil(*limit)));
  }
  return std::max(1, threads);
}

}  // namespace berth
