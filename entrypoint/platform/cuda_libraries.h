#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace berth {

// What XLA's GPU plugin needs of CUDA, where it lies in NVIDIA's wheels beside the plugin's own:
//
//   SITE/jax_plugins/xla_cuda12/xla_cuda_plugin.so
//   SITE/nvidia/cublas/lib/libcublas.so.12 ...        CUDA 12: a folder for each wheel
//   SITE/nvidia/cu13/lib/libcublas.so.13 ...          CUDA 13: one folder
struct CudaFiles {
  // The libraries that the plugin loads by name, in the order in which they can be loaded.
  std::vector<std::filesystem::path> libraries{};
  // Has bin/ptxas and nvvm/libdevice; empty where there is none.
  std::filesystem::path data_folder{};
};
CudaFiles find_cuda_files(const std::filesystem::path& plugin);

// Does what must happen before a GPU plugin is opened. Loads NVIDIA's driver and the libraries, so
// that the plugin finds them, and adds the data folder to XLA_FLAGS, whose value is `xla_flags`,
// unless they name one. To be called while this process has one thread, because it changes the
// environment. Throws kNotFound where the driver cannot be loaded.
void prepare_cuda(const std::filesystem::path& plugin, const std::string& xla_flags);

}  // namespace berth
