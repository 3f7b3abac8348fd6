#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/dtype.h"
#include "trainer/engine/device.h"
#include "trainer/model/update.h"
#include "trainer/xla/pjrt/executable.h"

namespace berth {

// What make_xla_device() opens.
struct XlaDeviceOptions {
  std::string plugin_path{};  // a PJRT plugin: a shared library
  // The platform that the plugin must have: "cpu", "tpu" or "cuda". Empty: any.
  std::string platform{};
  // The type to which large matrix products round their factors, kF32 or kBF16.
  DType product_dtype = DType::kF32;
  // Philox drops what the CPU engine drops. Threefry may be faster where integer products are slow.
  DropoutGenerator generator = DropoutGenerator::kPhilox;
  // The number of this process's devices that compute together, each on a part of every batch. 0:
  // all of them, which several hosts require.
  int64_t devices = 0;
  PjrtHosts hosts{};  // whose devices compute together
  GpuMemory gpu_memory{};
  // A local folder for compiled programs; see trainer/xla/pjrt/executable_cache.h on who may write
  // to it. Empty: every process compiles its programs again.
  std::string cache_directory{};
  // The part of the process's environment that the compiler reads, such as the value of XLA_FLAGS.
  // It decides what is compiled, so that a program that was compiled under another one is not taken
  // from the cache.
  std::string compiler_environment{};
  // The most seconds that the plugin may take to load, and again to find its devices.
  double deadline_s = 60;
  double compile_deadline_s = kCompileDeadlineS;  // to compile one program
};

// The devices of a PJRT plugin, such as TPUs or GPUs. Loads the plugin, makes its client, and
// compares a small training program with numbers computed on the host (self_check.h), which takes
// some seconds.
//
// Throws kNotFound if there is no plugin, and kMemory. Throws kUsage if the plugin does not work or
// computes wrong numbers. Also throws kUsage if it has another platform or too few devices, or does
// not join the devices of several hosts. After a deadline the process is expected to end
// (trainer/xla/pjrt/plugin.h).
//
// EngineInfo::description names what decides the bits of results: "xla-cpu-fp32, PJRT 0.115, 2
// devices", with ", Threefry" before PJRT where that draws the dropout. In the result of
// memory_of(), `parameters`, `gradients` and `moments` are exact. The rest is an estimate; nothing
// is compiled for it. `plugin` is what this process has grown by while the plugin was opened and
// checked, and an estimate of what its compiler will take. The memory of a plugin for CPUs is the
// host's.
std::unique_ptr<Device> make_xla_device(const XlaDeviceOptions& options);

// The most floating-point operations that one device of a PJRT plugin does in a second, as its
// maker publishes them for dense matrix products: in bf16 with fp32 sums, or in fp32 without
// rounding to TF32 or bf16. `kind` is PjrtDevice::kind. nullopt where no number is published, as
// for fp32 on TPUs, or where the kind is not in the table.
std::optional<double> peak_flops(std::string_view kind, DType product_dtype);

}  // namespace berth
