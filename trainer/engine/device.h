#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/base/memory_level.h"
#include "storage/base/profiler.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/update.h"

namespace berth {

// The ranks that train a model together.
struct RankOptions {
  int64_t size = 1;
  // Null if there is one rank, or if only memory_of() is called.
  Communicator* communicator = nullptr;
  DType reduce_dtype = DType::kBF16;  // what gradients travel in: kBF16 or kF32
  // Whether each rank stores only the moments of its share. With one rank there is nothing to
  // share.
  bool shards_optimizer = false;
};

// All that decides what an engine computes and how much memory it takes.
struct EngineOptions {
  ModelConfig config;  // With its task and labels.
  LoraOptions lora{};
  bool trains = true;  // False: it only infers, so there are no gradients and no moments.
  OptimizerOptions optimizer{};
  LossOptions loss{};
  BatchLimits limits{};       // The largest micro-batch or batch of inference.
  int64_t micro_batches = 1;  // The most micro-batches of one update.
  int64_t update_tokens = 0;  // The most tokens of one update, over all its micro-batches.
  int64_t longest = 0;        // Tokens of the longest sequence.
  RankOptions ranks{};
};

// The memory that an engine takes at most, in bytes.
struct EngineMemory {
  // On the device. If there are several devices with memory of their own, on each of them.
  size_t parameters = 0;
  size_t gradients = 0;    // Devices that have memory of their own.
  size_t moments = 0;      // The optimizer's moments of the parameters that train, or of the
                           // largest rank's share.
  size_t activations = 0;  // Activations of the largest batch, with the gradients that reuse their
                           // memory.
  size_t scratch = 0;      // Everything else, packed copies of weights included.
  // On the host, besides the device's memory.
  size_t loading = 0;  // Copies of the state on its way to the device, before the first update.
  size_t plugin = 0;   // A plugin that computes, its compiler, and batches on their way.
  // Whether the device's memory is its own, and no memory of the host.
  bool has_own_memory = false;

  size_t on_device() const { return parameters + gradients + moments + activations + scratch; }
  size_t on_host() const { return plugin + (has_own_memory ? 0 : on_device()); }
};

// The memory of an accelerator at this moment, in bytes. If there are several accelerators, the one
// with the least free memory counts.
struct DeviceMemory {
  uint64_t in_use = 0;
  std::optional<uint64_t> peak_in_use{};  // since the process began
  std::optional<uint64_t> limit{};        // of what may be in use
};

// Something that computes: the CPUs that this process may use, or accelerators. It makes
// engines, which borrow it and must not outlive it. Not thread-safe.
class Device {
 public:
  virtual ~Device() = default;

  virtual const EngineInfo& info() const = 0;
  // The memory of an engine with these options. Allocates none of it.
  virtual EngineMemory memory_of(const EngineOptions& options) = 0;
  // The most floating-point operations a second with products of info().precision, of all devices
  // together: as their maker publishes it for accelerators. On CPUs it is measured by the first
  // call, which takes some 10 ms on all threads, so no engine may compute meanwhile. 0: not known.
  virtual double peak_flops() { return 0; }
  // The levels of the memory with their rates, the fastest first, as the first call measures them
  // on all threads (measure_memory_levels). Empty: not known.
  virtual std::vector<MemoryLevel> memory_levels() { return {}; }
  // nullopt where engines use the host's memory, or if the device does not report it.
  virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
  // The profiler that records the work of engines while it is on; null: there is none. It is for
  // info().threads threads. It must outlive the engines or be removed first. For a device that does
  // not compute on this process's threads, the caller's work is recorded, such as waiting for the
  // device.
  virtual void set_profiler(Profiler* profiler) { (void)profiler; }
  // Parameters and moments start as zeros; they are to be written, then tensors_written() called.
  // Throws kMemory where there is not enough.
  virtual std::unique_ptr<Engine> make_engine(const EngineOptions& options) = 0;
};

}  // namespace berth
