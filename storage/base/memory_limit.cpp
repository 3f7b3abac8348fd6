#include "storage/base/memory_limit.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "storage/base/cgroup.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

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

}  // namespace berth
