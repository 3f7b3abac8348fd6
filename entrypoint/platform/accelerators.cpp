#include "entrypoint/platform/accelerators.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

// Whether `folder` has an entry that is named `prefix` and a number.
bool has_numbered(const fs::path& folder, std::string_view prefix) {
  std::error_code unreadable;
  const fs::directory_iterator entries(folder, unreadable), end;
  return std::any_of(entries, end, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  });
}

}  // namespace

Presence find_tpu(const fs::path& root, const AcceleratorEnvironment& environment) {
  if (!has_numbered(root / "dev", "accel") && !has_numbered(root / "dev/vfio", "")) {
    return {.problem = "this machine has no TPU: neither /dev/accel0 nor /dev/vfio/0 exists",
            .hint = "run on a TPU VM, or in a pod with a limit of google.com/tpu"};
  }
  const std::string product = first_line(root / "sys/devices/virtual/dmi/id/product_name");
  if (product == "Google Compute Engine" || environment.skips_metadata) return {.is_there = true};
  return {.problem = cat("libtpu works on Google Compute Engine only, and this machine is ",
                         product.empty() ? "unknown" : quoted(product)),
          .hint = "if this is a TPU VM, set TPU_SKIP_MDS_QUERY=1"};
}

Presence find_gpu(const fs::path& root) {
  if (is_there(root / "dev/nvidiactl") || is_there(root / "dev/nvidia0")) return {.is_there = true};
  if (is_there(root / "proc/driver/nvidia/version")) {
    return {.problem = "NVIDIA's driver is loaded, but this process was given no GPU",
            .hint =
                "start the container with docker run --gpus all, or with a limit of "
                "nvidia.com/gpu"};
  }
  return {.problem = "this machine has no NVIDIA GPU, or not its driver: /dev/nvidiactl is missing",
          .hint = "install the driver, or run on a machine with a GPU"};
}

void require_worker_on_each_host(const AcceleratorEnvironment& environment, int64_t workers) {
  const std::string& hosts = environment.tpu_hosts;
  const auto count = std::count(hosts.begin(), hosts.end(), ',') + 1;
  if (hosts.empty() || count == workers) return;
  throw Error(Code::kUsage,
              cat("this TPU is a slice of ", counted(count, "host"), ", and the job has ",
                  counted(workers, "worker")),
              "TPU_WORKER_HOSTNAMES",
              cat("use a slice of one host, such as v5litepod-8 or the topology 2x4, or start a "
                  "worker on each host with --world-size ",
                  count, " and --rank $TPU_WORKER_ID, which is experimental"));
}

GpuMemory gpu_memory_of(const AcceleratorEnvironment& environment) {
  GpuMemory memory;
  if (const std::string value = lower_ascii(environment.gpu_preallocates); !value.empty()) {
    memory.preallocates = value == "true" || value == "1";
    if (!*memory.preallocates && value != "false" && value != "0") {
      throw Error(Code::kUsage, cat(quoted(value), " is neither true nor false"),
                  "XLA_PYTHON_CLIENT_PREALLOCATE");
    }
  }
  if (const std::string& value = environment.gpu_fraction; !value.empty()) {
    float share = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, failure] = std::from_chars(value.data(), end, share);
    if (failure != std::errc() || stop != end || !(share > 0 && share <= 1)) {
      throw Error(Code::kUsage, cat(quoted(value), " is no share of a GPU's memory"),
                  "XLA_PYTHON_CLIENT_MEM_FRACTION", "give a number above 0 and at most 1");
    }
    memory.fraction = share;
  }
  return memory;
}

namespace {

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

namespace {

// cublasLt comes before cublas and nvJitLink before cusparse and cusolver, which need them.
constexpr std::array<std::string_view, 12> kLibraries = {
    "libcudart.so",   "libnvrtc.so", "libnvJitLink.so",    "libcublasLt.so",
    "libcublas.so",   "libnccl.so",  "libcupti.so",        "libcusparse.so",
    "libcusolver.so", "libcufft.so", "libnvshmem_host.so", "libcudnn.so"};

// The libraries that the driver loads by name while it works, each after the libraries that it
// needs itself. NCCL and XLA load libnvidia-ml.
constexpr std::array<std::string_view, 4> kOfDriver = {
    "libnvidia-gpucomp.so", "libnvidia-nvvm.so", "libnvidia-ptxjitcompiler.so", "libnvidia-ml.so"};
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

// The driver in this folder: libcuda.so.1, or the file that this link would name,
// libcuda.so.VERSION. Older container toolkits of NVIDIA mount no links where they use CDI. Empty
// if there is none.
fs::path driver_in(const fs::path& folder) {
  constexpr std::string_view kName = "libcuda.so.";
  std::error_code unreadable;
  if (fs::exists(folder / "libcuda.so.1", unreadable)) return folder / "libcuda.so.1";
  for (const fs::path& path : sorted_entries(folder)) {
    const std::string file = path.filename();
    const bool has_version = file.size() > kName.size() && file.starts_with(kName) &&
                             file.find_first_not_of("0123456789.", kName.size()) == file.npos;
    if (has_version && fs::exists(path, unreadable)) return path;
  }
  return {};
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
  for (const std::string_view name : kDriverFolders) {
    const fs::path folder = root / name;
    const fs::path driver = driver_in(folder);
    if (driver.empty()) continue;
    std::vector<fs::path> found;
    for (const std::string_view wanted : kOfDriver) {
      for (const fs::path& path : sorted_entries(folder)) {
        if (!is_library(path, wanted)) continue;
        found.push_back(path);
        break;
      }
    }
    found.push_back(driver);
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
      if (library.filename().string().starts_with("libcuda.so.")) problem = failed;
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
