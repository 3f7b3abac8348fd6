#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/base/dtype.h"
#include "trainer/engine/device.h"
#include "trainer/loop/snapshot.h"

namespace berth {

// The most memory that a job holds at once, in bytes, part by part. Mapped files do not count,
// because the system may take their pages back.
struct MemoryEstimate {
  size_t program = 0;  // code, libraries and the tokenizer
  size_t tables = 0;   // the rows and the stored tokens
  size_t teacher = 0;  // the teacher's outputs for the rows, also in the batches that wait
  EngineMemory engine{};
  // Copies of the state that exist while it is loaded, or while a checkpoint or the finished model
  // is written, whichever is largest.
  size_t saving = 0;
  size_t probe = 0;  // of the process that probes, while the training waits for it
  // What reading the rows has taken for a while beyond all of this. It is free again.
  size_t reading = 0;
  Saving saves = Saving::kBesideTraining;
  // The memory that the copies for a save may take, within `saving`. They may take more where
  // storage is slow and the host has memory to spare; CopyLimits is made of that.
  uint64_t most_copied = 0;

  // The memory that the job holds at once from now on, and the most at any time.
  size_t on_host_yet() const {
    return program + tables + teacher + engine.on_host() + saving + probe;
  }
  size_t on_host() const { return on_host_yet() + reading; }
  // On each device that has memory of its own.
  size_t on_device() const { return engine.has_own_memory ? engine.on_device() : 0; }
};

// How a training job writes what it has learned.
struct SavingPlan {
  DType export_dtype = DType::kF32;
  bool exports_tensorflow = false;
  bool probes = false;  // the model is also exported for probes, maybe beside the copy for a save
  Saving saves = Saving::kBesideTraining;
  // What the storage holds at most of a file that it writes, and of a file that it reads.
  size_t upload = 0, download = 0;
};

// Estimates a job that trains, without the program and the tables. Allocates nothing.
MemoryEstimate estimate_memory(const EngineOptions& options, const SavingPlan& saving,
                               Device& device);
// The same for a job that only infers.
MemoryEstimate estimate_memory(const EngineOptions& options, Device& device);

}  // namespace berth
