#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

enum class CgroupVersion { kV1, kV2 };

// Returns the smallest limit among this process's control group and its parents up to the root, or
// nullopt if no group has one. Searches cgroup v2, v1, and both where they are mounted side by
// side. `limit_of` reads the limit of one group. `controller` is v1's name of the resource ("cpu",
// "memory"). Tests pass a `root` that stands for "/".
//
// In a container, /proc may show the host's path of a group while only the container's own groups
// are mounted. The group at the mount point is therefore always read, too.
std::optional<double> least_cgroup_limit(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<std::optional<double>(const std::filesystem::path& group,
                                              CgroupVersion version)>& limit_of);

// Returns the first line of a file, or an empty string if the file cannot be read.
std::string first_line(const std::filesystem::path& file);

}  // namespace berth
