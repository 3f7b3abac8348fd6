#include "entrypoint/platform/plugin_places.h"

#include <sstream>
#include <string_view>
#include <system_error>

namespace berth {
namespace {

namespace fs = std::filesystem;

// The libraries that PJRT_NAMES_AND_LIBRARY_PATHS has under one of `names`.
std::vector<fs::path> named_libraries(const std::string& variable,
                                      const std::vector<std::string_view>& names) {
  std::vector<fs::path> found;
  std::istringstream entries(variable);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const size_t colon = entry.find(':');
    if (colon == std::string::npos) continue;
    for (const std::string_view name : names) {
      if (entry.compare(0, colon, name) == 0) found.emplace_back(entry.substr(colon + 1));
    }
  }
  return found;
}

}  // namespace

std::vector<fs::path> plugin_places(DeviceKind kind, const AcceleratorEnvironment& environment,
                                    const fs::path& program_folder, const fs::path& root) {
  const fs::path wheels = (program_folder / "../lib/berth/plugins").lexically_normal();
  std::vector<fs::path> places;
  const auto add_named = [&](const std::vector<std::string_view>& names) {
    for (fs::path& path : named_libraries(environment.named_libraries, names)) {
      places.push_back(std::move(path));
    }
  };
  switch (kind) {
    case DeviceKind::kTpu:
      if (!environment.tpu_library.empty()) places.emplace_back(environment.tpu_library);
      add_named({"tpu"});
      places.push_back(root / "lib/libtpu.so");
      places.push_back(root / "usr/lib/libtpu.so");
      places.push_back(wheels / "libtpu/libtpu.so");
      break;
    case DeviceKind::kGpu:
      add_named({"cuda", "gpu"});
      places.push_back(wheels / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
      places.push_back(wheels / "jax_plugins/xla_cuda12/xla_cuda_plugin.so");
      break;
    case DeviceKind::kXlaCpu:
      add_named({"cpu"});
      places.push_back(wheels / "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so");
      break;
    case DeviceKind::kAuto:
    case DeviceKind::kCpu:
      break;
  }
  return places;
}

fs::path first_existing(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    std::error_code unreadable;
    if (fs::exists(path, unreadable)) return path;
  }
  return {};
}

}  // namespace berth
