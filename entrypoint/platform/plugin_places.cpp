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

// The folders in which the wheels of plugins may be unpacked.
std::vector<fs::path> wheel_folders(const fs::path& program_folder) {
  std::vector<fs::path> folders = {(program_folder / "../lib/berth/plugins").lexically_normal()};
  const fs::path dist = program_folder.parent_path(), package = dist.parent_path();
  if (program_folder.filename() == "bin" && dist.filename() == "dist" &&
      package.filename() == "berth_trainer") {
    folders.push_back(package.parent_path());
  }
  return folders;
}

}  // namespace

std::vector<fs::path> plugin_places(DeviceKind kind, const AcceleratorEnvironment& environment,
                                    const fs::path& program_folder, const fs::path& root) {
  std::vector<fs::path> places;
  const auto add_wheels = [&](const std::vector<std::string_view>& libraries) {
    for (const fs::path& folder : wheel_folders(program_folder)) {
      for (const std::string_view library : libraries) places.push_back(folder / library);
    }
  };
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
      add_wheels({"libtpu/libtpu.so"});
      break;
    case DeviceKind::kGpu:
      add_named({"cuda", "gpu"});
      add_wheels({"jax_plugins/xla_cuda13/xla_cuda_plugin.so",
                  "jax_plugins/xla_cuda12/xla_cuda_plugin.so"});
      break;
    case DeviceKind::kXlaCpu:
      add_named({"cpu"});
      add_wheels({"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"});
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
