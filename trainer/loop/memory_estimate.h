#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/base/dtype.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/loop/snapshot.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"

namespace berth {

// The most that a job holds in memory at once, in bytes, part by part. Files that are
// mapped do not count: the system takes them back.
struct MemoryEstimate {
  size_t program = 0;      // code, libraries, the tokenizer
  size_t tables = 0;       // rows, and what is kept of their tokens
  size_t parameters = 0;   // of the whole model
  size_t gradients = 0;    // that are summed
  size_t moments = 0;      // of what learns
  size_t activations = 0;  // of the largest batch, with the gradients that take their place
  size_t scratch = 0;      // the backend's own, packed weights included
  size_t saving = 0;  // copies while a checkpoint is written, or the model where that takes more
  Saving saves = Saving::kBesideTraining;

  size_t total() const {
    return program + tables + parameters + gradients + moments + activations + scratch + saving;
  }
};

// What decides on it, apart from the data.
struct MemoryPlan {
  const ModelConfig& config;
  const LoraOptions& lora;
  const OptimizerOptions& optimizer;
  bool trains = true;  // else it evaluates or predicts: no gradients, moments, copies
  BatchLimits limits{};
  int64_t update_tokens = 0;  // as Parameters have it
  int64_t longest = 0;        // tokens of a sequence
  DType export_dtype = DType::kF32;
  bool exports_tensorflow = false;
  Saving saves = Saving::kBesideTraining;
};

// All but program and tables. Allocates none of it.
MemoryEstimate estimate_memory(const MemoryPlan& plan, Kernels& kernels);

}  // namespace berth
