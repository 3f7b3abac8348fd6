#include "entrypoint/platform/cuda_libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// cublasLt comes before cublas and nvJitLink before cusparse and cusolver, which need them.
constexpr std::array<std::string_view, 12> kLibraries = {
    "libcudart.so",   "libnvrtc.so", "libnvJitLink.so",    "libcublasLt.so",
    "libcublas.so",   "libnccl.so",  "libcupti.so",        "libcusparse.so",
    "libcusolver.so", "libcufft.so", "libnvshmem_host.so", "libcudnn.so"};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code unreadable;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

bool has_libdevice(const fs::path& folder) {
  std::error_code unreadable;
  return fs::exists(folder / "nvvm/libdevice", unreadable);
}

// Loads a library for the whole process. Returns what went wrong, or "".
std::string load(const fs::path& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return "";
  const char* reason = ::dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

CudaFiles find_cuda_files(const fs::path& plugin) {
  const fs::path nvidia = plugin.parent_path().parent_path().parent_path() / "nvidia";
  CudaFiles found;
  std::vector<fs::path> libraries;
  for (const fs::path& package : sorted_entries(nvidia)) {
    if (found.data_folder.empty() && has_libdevice(package)) found.data_folder = package;
    for (fs::path& library : sorted_entries(package / "lib")) {
      libraries.push_back(std::move(library));
    }
  }
  for (const std::string_view name : kLibraries) {
    // The wheels' files have a version behind ".so".
    const auto library = std::ranges::find_if(libraries, [&](const fs::path& path) {
      const std::string file = path.filename();
      return file.starts_with(name) && (file.size() == name.size() || file[name.size()] == '.');
    });
    if (library != libraries.end()) found.libraries.push_back(*library);
  }
  return found;
}

void prepare_cuda(const fs::path& plugin, const std::string& xla_flags) {
  const std::string problem = load("libcuda.so.1");
  if (!problem.empty()) {
    throw Error(Code::kNotFound, cat("NVIDIA's driver cannot be loaded: ", problem), "libcuda.so.1",
                "install the driver, or start the container with docker run --gpus all; on GKE set "
                "LD_LIBRARY_PATH=/usr/local/nvidia/lib64");
  }
  const CudaFiles files = find_cuda_files(plugin);
  for (const fs::path& library : files.libraries) {
    const std::string failed = load(library);
    if (!failed.empty()) log_warning(cat("a CUDA library cannot be loaded: ", failed));
  }
  constexpr std::string_view kDataFolder = "xla_gpu_cuda_data_dir";
  if (files.data_folder.empty() || xla_flags.find(kDataFolder) != std::string::npos) return;
  const std::string flags = cat(xla_flags, xla_flags.empty() ? "" : " ", "--", kDataFolder, "=",
                                files.data_folder.string());
  ::setenv("XLA_FLAGS", flags.c_str(), /*overwrite=*/1);
}

}  // namespace berth
