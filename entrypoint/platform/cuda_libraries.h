#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace berth {

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
// by name come before it, and "libcuda.so.1" is the last one. Empty where there is none. The
// folders are below `root`, which is "/" but in tests.
std::vector<std::filesystem::path> find_driver(const std::filesystem::path& root);

// To be called before a GPU plugin is opened. Loads NVIDIA's driver and the libraries, so that the
// plugin finds them. Adds the data folder to XLA_FLAGS, whose value is `xla_flags`, unless it names
// one. To be called while this process has one thread, because it changes the environment. Throws
// kNotFound where the driver cannot be loaded.
void prepare_cuda(const std::filesystem::path& plugin, const std::string& xla_flags);

}  // namespace berth
