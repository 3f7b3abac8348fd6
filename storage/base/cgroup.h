#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

enum class CgroupVersion { kV1, kV2 };

// The smallest of the limits that this process's control groups have, along its path to the root,
// in version 2, version 1 and both mounted side by side; nullopt: none. `limit_of` reads one
// group's. `controller` is version 1's name for the resource ("cpu", "memory"); `root` stands for
// "/". Of a process that sees the host's path but only its own groups the mount point counts.
std::optional<double> least_cgroup_limit(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<std::optional<double>(const std::filesystem::path& group,
                                              CgroupVersion version)>& limit_of);

// A file's first line; empty where there is none.
std::string first_line(const std::filesystem::path& file);

}  // namespace berth
