#include "storage/base/process_resources.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "storage/base/text.h"
#include "storage/base/thread_pool.h"

namespace berth {
namespace {

enum class CgroupVersion { kV1, kV2 };

namespace fs = std::filesystem;

// Whether a list such as "cpu,cpuacct" contains `controller`.
bool lists_controller(const std::string& controllers, std::string_view controller) {
  return (',' + controllers + ',').find(',' + std::string(controller) + ',') != std::string::npos;
}

// Returns the smallest limit of the mount point and of every group on the way to mount/path.
std::optional<double> least_along(const fs::path& mount, const fs::path& path,
                                  const std::function<std::optional<double>(const fs::path&)>& of) {
  std::optional<double> least = of(mount);
  fs::path group = mount;
  for (const fs::path& part : path.relative_path()) {
    if (part == "..") break;  // above the root of our cgroup namespace, which we cannot see
    group /= part;
    const std::optional<double> limit = of(group);
    if (limit && (!least || *limit < *least)) least = limit;
  }
  return least;
}

// Returns the smallest limit among this process's control group and its parents up to the root, or
// nullopt if no group has one. Searches cgroup v2, v1, and both where they are mounted side by
// side. `limit_of` reads the limit of one group. `controller` is v1's name of the resource ("cpu",
// "memory"). Tests pass a `root` that stands for "/".
//
// In a container, /proc may show the host's path of a group while only the container's own groups
// are mounted. The group at the mount point is therefore always read, too.
std::optional<double> least_cgroup_limit(
    const fs::path& root, std::string_view controller,
    const std::function<std::optional<double>(const fs::path&, CgroupVersion)>& limit_of) {
  std::optional<double> least;
  const auto consider = [&](const fs::path& mount, const fs::path& path, CgroupVersion version) {
    const std::optional<double> limit =
        least_along(mount, path, [&](const fs::path& group) { return limit_of(group, version); });
    if (limit && (!least || *limit < *least)) least = limit;
  };
  const fs::path mounts = root / "sys/fs/cgroup";
  // Lines look like "0::/pod/container" (v2) or "4:cpu,cpuacct:/docker/1234" (v1).
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controllers.empty()) {
      consider(mounts, path, CgroupVersion::kV2);
      consider(mounts / "unified", path, CgroupVersion::kV2);
    } else if (lists_controller(controllers, controller)) {
      std::error_code ignored;  // the directory is named "cpu", "cpu,cpuacct" or "cpuacct,cpu"
      for (const fs::directory_entry& mount : fs::directory_iterator(mounts, ignored)) {
        if (!lists_controller(mount.path().filename().string(), controller)) continue;
        consider(mount.path(), path, CgroupVersion::kV1);
      }
    }
  }
  return least;
}

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

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

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

namespace {

// "max" (v2) does not parse as a number and so means no limit. v1 writes a number larger than any
// machine's memory instead.
std::optional<double> memory_limit_of(const fs::path& group, CgroupVersion version) {
  const char* file = version == CgroupVersion::kV2 ? "memory.max" : "memory.limit_in_bytes";
  const std::optional<uint64_t> size_bytes = parse_number(first_line(group / file));
  if (!size_bytes) return std::nullopt;
  return static_cast<double>(*size_bytes);
}

// Reads a line such as "MemTotal:       24626316 kB" of a file in /proc, in bytes.
std::optional<uint64_t> size_in(const fs::path& file, std::string_view wanted) {
  std::ifstream in(file);
  for (std::string name, unit; in >> name;) {
    uint64_t size = 0;
    if (name == wanted && in >> size >> unit && unit == "kB") return size * 1024;
    std::getline(in, unit);
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryLimit> memory_limit(const fs::path& root) {
  const std::optional<uint64_t> machine = size_in(root / "proc/meminfo", "MemTotal:");
  const std::optional<double> group = least_cgroup_limit(root, "memory", memory_limit_of);
  constexpr double kUnlimited = 0x1p62;  // used if the machine's memory is unknown
  if (group && *group < (machine ? static_cast<double>(*machine) : kUnlimited)) {
    return MemoryLimit{static_cast<uint64_t>(*group), "the container's limit"};
  }
  if (!machine) return std::nullopt;
  return MemoryLimit{*machine, "this machine's memory"};
}

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

uint64_t peak_resident_bytes() { return size_in("/proc/self/status", "VmHWM:").value_or(0); }

uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");  // in pages: total, resident, ...
  uint64_t all = 0, resident = 0;
  if (!(in >> all >> resident)) return 0;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

namespace {

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
