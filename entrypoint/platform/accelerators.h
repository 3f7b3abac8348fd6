#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "trainer/inputs/options.h"
#include "trainer/xla/pjrt/client_options.h"

namespace berth {

// Whether a machine has one kind of accelerator. A plugin is opened only on such a machine: libtpu
// waits for minutes on a machine without a TPU.
struct Presence {
  bool is_there = false;
  // If it is not there: why, and what to do about it.
  std::string problem{}, hint{};
};

// Looks for devices below `root`, which is "/" but in tests. They start no driver and run nothing.
//
// A TPU is there if /dev/accelN or /dev/vfio/N exists, for a number N, and the machine is one of
// Google Compute Engine's, by /sys/devices/virtual/dmi/id/product_name. TPU_SKIP_MDS_QUERY replaces
// the second condition.
Presence find_tpu(const std::filesystem::path& root, const AcceleratorEnvironment& environment);
// A GPU is there if /dev/nvidiactl or /dev/nvidia0 exists. /proc/driver/nvidia/version only shows
// that the machine has NVIDIA's driver: a container sees it without having been given a GPU.
Presence find_gpu(const std::filesystem::path& root);

// Throws kUsage if the TPU belongs to a slice of another number of hosts than the job has workers:
// they would wait for each other.
void require_worker_on_each_host(const AcceleratorEnvironment& environment, int64_t workers);

// How a plugin for GPUs takes memory, by JAX's variables: whether it takes its share at once
// ("true" or "1", "false" or "0"), and that share, above 0 and at most 1. Throws kUsage for other
// values.
GpuMemory gpu_memory_of(const AcceleratorEnvironment& environment);

// Where the PJRT plugin of a TPU, of a GPU or of kXlaCpu may lie, the likeliest place first:
//   1. where PJRT_NAMES_AND_LIBRARY_PATHS says, for a TPU also TPU_LIBRARY_PATH;
//   2. for a TPU /lib/libtpu.so and /usr/lib/libtpu.so, where TPU VMs have it;
//   3. ../lib/berth/plugins beside the program's folder, where `pip install --target` unpacked the
//      wheel of the plugin: libtpu, jax-cuda13-pjrt, jax-cuda12-pjrt or lammps-jax-pjrt-cpu;
//   4. where the program lies in its own wheel, SITE/berth_trainer/dist/bin, also SITE itself, the
//      folder in which pip installs the wheels of one environment.
// No other folder is searched, because loading a plugin runs its code.
// The paths below / are below `root`, which is "/" but in tests.
std::vector<std::filesystem::path> plugin_places(DeviceKind kind,
                                                 const AcceleratorEnvironment& environment,
                                                 const std::filesystem::path& program_folder,
                                                 const std::filesystem::path& root);

// The first of these paths that exists, or an empty one.
std::filesystem::path first_existing(const std::vector<std::filesystem::path>& paths);

// The parts of CUDA that XLA's GPU plugin needs, if they lie in NVIDIA's wheels beside the plugin's
// own:
//
//   SITE/jax_plugins/xla_cuda12/xla_cuda_plugin.so
//   SITE/nvidia/cublas/lib/libcublas.so.12 ...        CUDA 12: a folder for each wheel
//   SITE/nvidia/cu13/lib/libcublas.so.13 ...          CUDA 13: one folder, and cudnn, nccl, nvshmem
//
// SITE may have the libraries of several versions, because PyTorch brings its own. Libraries of
// another version than the plugin's folder names are ignored.
struct CudaFiles {
  // The libraries that the plugin loads by name, in the order in which they can be loaded.
  std::vector<std::filesystem::path> libraries{};
  // Has bin/ptxas or nvvm/libdevice; empty where there is none.
  std::filesystem::path data_folder{};
};
CudaFiles find_cuda_files(const std::filesystem::path& plugin);

// NVIDIA's driver, where the loader does not find it by its name: in the first of the folders in
// which container runtimes, GKE, WSL and distributions put it. The libraries that the driver loads
// by name come before it, and the driver is the last one: "libcuda.so.1", or "libcuda.so.VERSION",
// which has that name inside. Empty where there is none. The folders are below `root`, which is "/"
// but in tests.
std::vector<std::filesystem::path> find_driver(const std::filesystem::path& root);

// To be called before a GPU plugin is opened. Loads NVIDIA's driver and the libraries, so that the
// plugin finds them. Adds the data folder to XLA_FLAGS, whose value is `xla_flags`, unless it names
// one. To be called while this process has one thread, because it changes the environment. Throws
// kNotFound where the driver cannot be loaded.
void prepare_cuda(const std::filesystem::path& plugin, const std::string& xla_flags);

}  // namespace berth
