#include "storage/base/cgroup.h"

#include <fstream>
#include <system_error>

namespace berth {
namespace {

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

}  // namespace

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

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace berth
