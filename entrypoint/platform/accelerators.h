#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "entrypoint/platform/platform.h"
#include "trainer/xla/pjrt/gpu_memory.h"

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

}  // namespace berth
