#pragma once

#include <filesystem>
#include <optional>

namespace berth {

// Returns the CPU quota of this process's cgroup, in CPUs: 1.5 means one and a half. The quota is
// the smallest one on the path from the process's group to the root. Reads cgroup v2 (cpu.max), v1
// (cpu.cfs_quota_us), and both where they are mounted side by side. Returns nullopt if there is no
// quota or it cannot be read. Tests pass a `root` that stands for "/".
std::optional<double> cgroup_cpu_limit(const std::filesystem::path& root = "/");

}  // namespace berth
