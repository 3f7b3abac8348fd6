#pragma once

#include <filesystem>
#include <optional>

namespace berth {

// The CPU quota of this process's cgroup in CPUs (1.5 is one and a half), the smallest along its
// path to the root, for cgroup v2 (cpu.max), v1 (cpu.cfs_quota_us) and both mounted side by side.
// nullopt: no limit, or none that can be read. `root` stands for "/".
std::optional<double> cgroup_cpu_limit(const std::filesystem::path& root = "/");

}  // namespace berth
