#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

// What this process may use and has used, as the kernel says. Thread-safe. What cannot be read is
// nullopt or 0, and nothing throws.
namespace berth {

// The first line of a file, or an empty text if the file cannot be read.
std::string first_line(const std::filesystem::path& path);

// Returns the CPU quota of this process's cgroup, in CPUs: 1.5 means one and a half. The quota is
// the smallest one on the path from the process's group to the root. Reads cgroup v2 (cpu.max), v1
// (cpu.cfs_quota_us), and both where they are mounted side by side. Returns nullopt if there is no
// quota or it cannot be read. Tests pass a `root` that stands for "/".
std::optional<double> cgroup_cpu_limit(const std::filesystem::path& root = "/");

struct MemoryLimit {
  uint64_t size_bytes = 0;
  std::string what{};  // "the container's limit", "this machine's memory"
  bool operator==(const MemoryLimit&) const = default;
};

// The memory that this process may use: the smaller of the machine's MemTotal and its cgroup limits
// (memory.max in v2, memory.limit_in_bytes in v1). Returns nullopt if neither can be read. Tests
// pass a `root` that stands for "/".
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root = "/");

// The resident memory of this process, in bytes; 0 if it cannot be read.
uint64_t resident_bytes();

// The most resident memory that this process has had, in bytes; 0 if it cannot be read.
uint64_t peak_resident_bytes();

// Returns memory to the system that the process has freed but the allocator still keeps. Does
// nothing without glibc.
void return_freed_memory();

// What this process has used so far.
struct ProcessUsage {
  double cpu_s = 0;  // processor time of all of its threads
  uint64_t resident_bytes = 0, peak_resident_bytes = 0;
  // How long its control groups have held its threads back, because they had used their share of
  // the processors. nullopt: no group counts that.
  std::optional<double> throttled_s{};
};

// Tests pass a `root` that stands for "/", from which throttled_s is read.
ProcessUsage process_usage(const std::filesystem::path& root = "/");

}  // namespace berth
