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

// The libraries that the driver loads by name while it works, each after the libraries that it
// needs itself. NCCL and XLA load libnvidia-ml.
constexpr std::array<std::string_view, 4> kOfDriver = {"libnvidia-gpucomp.so", "libnvidia-nvvm.so",
                                                       "libnvidia-ptxjitcompiler.so",
                                                       "libnvidia-ml.so.1"};
constexpr std::array<std::string_view, 9> kDriverFolders = {"usr/local/nvidia/lib64",
                                                            "usr/local/nvidia/lib",
                                                            "usr/lib/x86_64-linux-gnu",
                                                            "usr/lib/aarch64-linux-gnu",
                                                            "usr/lib64",
                                                            "usr/lib",
                                                            "usr/lib/wsl/lib",
                                                            "usr/local/cuda/compat",
                                                            "run/opengl-driver/lib"};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code unreadable;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

bool has_compiler_data(const fs::path& folder) {
  std::error_code unreadable;
  return fs::exists(folder / "nvvm/libdevice", unreadable) ||
         fs::exists(folder / "bin/ptxas", unreadable);
}

// Whether `name` is "cu" and a number: the folder of one version of CUDA.
bool is_of_one_version(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") &&
         name.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

// The folders of NVIDIA's wheels that a plugin for CUDA `version` may use: "13" for xla_cuda13. One
// folder for that version counts alone, but for cuDNN, NCCL and NVSHMEM, which lie beside it.
std::vector<fs::path> packages_for(const std::string& version, const fs::path& nvidia) {
  std::vector<fs::path> own, others;
  for (const fs::path& package : sorted_entries(nvidia)) {
    const std::string name = package.filename();
    if (name == cat("cu", version)) {
      own.push_back(package);
    } else if (!is_of_one_version(name)) {
      others.push_back(package);
    }
  }
  if (!own.empty()) {
    std::erase_if(others, [](const fs::path& package) {
      return package.filename() != "cudnn" && package.filename() != "nccl" &&
             package.filename() != "nvshmem";
    });
  }
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

// Whether `path` is a library of that name: the wheels' files have a version behind ".so".
bool is_library(const fs::path& path, std::string_view name) {
  const std::string file = path.filename();
  return file.starts_with(name) && (file.size() == name.size() || file[name.size()] == '.');
}

// Loads a library for the whole process. Returns what went wrong, or "".
std::string load(const fs::path& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return "";
  const char* reason = ::dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

CudaFiles find_cuda_files(const fs::path& plugin) {
  const fs::path folder = plugin.parent_path();
  const std::string name = folder.filename();
  constexpr std::string_view kFolder = "xla_cuda";
  const std::string version = name.starts_with(kFolder) ? name.substr(kFolder.size()) : "";
  CudaFiles found;
  std::vector<fs::path> libraries;
  for (const fs::path& package :
       packages_for(version, folder.parent_path().parent_path() / "nvidia")) {
    if (found.data_folder.empty() && has_compiler_data(package)) found.data_folder = package;
    for (fs::path& library : sorted_entries(package / "lib")) {
      libraries.push_back(std::move(library));
    }
  }
  for (const std::string_view wanted : kLibraries) {
    const auto library = std::ranges::find_if(
        libraries, [&](const fs::path& path) { return is_library(path, wanted); });
    if (library != libraries.end()) found.libraries.push_back(*library);
  }
  return found;
}

std::vector<fs::path> find_driver(const fs::path& root) {
  std::error_code unreadable;
  for (const std::string_view name : kDriverFolders) {
    const fs::path folder = root / name;
    if (!fs::exists(folder / "libcuda.so.1", unreadable)) continue;
    std::vector<fs::path> found;
    for (const std::string_view wanted : kOfDriver) {
      for (const fs::path& path : sorted_entries(folder)) {
        if (!is_library(path, wanted)) continue;
        found.push_back(path);
        break;
      }
    }
    found.push_back(folder / "libcuda.so.1");
    return found;
  }
  return {};
}

void prepare_cuda(const fs::path& plugin, const std::string& xla_flags) {
  std::string problem = load("libcuda.so.1");
  if (!problem.empty()) {
    // A library beside the driver may be missing or fail; the driver itself may not.
    for (const fs::path& library : find_driver("/")) {
      const std::string failed = load(library);
      if (library.filename() == "libcuda.so.1") problem = failed;
    }
  }
  if (!problem.empty()) {
    throw Error(Code::kNotFound, cat("NVIDIA's driver cannot be loaded: ", problem), "libcuda.so.1",
                "install the driver, or start the container with docker run --gpus all; where it "
                "lies in another folder, name that by LD_LIBRARY_PATH");
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
