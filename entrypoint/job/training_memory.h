#pragma once

#include <optional>

#include "entrypoint/job/labelled_data.h"
#include "entrypoint/memory/memory_budget.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/memory_estimate.h"

namespace berth {

// The memory that a job needs for everything but the model, in bytes.
struct DataMemory {
  size_t program = 0;         // the process without the rows; see program_bytes()
  size_t tables = 0;          // the rows and their features
  size_t teacher = 0;         // what a teacher makes of the rows
  int64_t most_examples = 0;  // the number of examples in the largest data set
  size_t probe = 0;           // of the process that probes; 0: nothing is probed
};

// The memory of the process as it is now, without the tables, plus what threads, writers and
// connections will still need. To be called after the tables are loaded and before data sets are
// made of them.
size_t program_bytes(const TrainingRows& rows);
// The same before any table is loaded.
size_t program_bytes();

// Measures the data sets. Makes the features of some of their rows, to estimate the features of all
// rows.
DataMemory data_memory(size_t program, const TrainingRows& rows, Dataset& train,
                       std::optional<Dataset>& eval);

// The memory that the whole job needs. `config` has its task and labels. Training normally
// continues while a checkpoint is written, which takes memory for copies. If the usual size of the
// copies would exceed the host's limit, or if the job stores no weights, the estimate has no
// copies. Its `saves` then says that training waits. `most_copied` is the memory that the limit
// leaves for copies.
MemoryEstimate training_memory(const Settings& settings, const ModelConfig& config,
                               const DataMemory& data, const MemoryLimits& limits, Device& device);

// Throws kMemory, with the batch size that would fit, where the job needs more than the limits
// allow.
void require_training_memory(const Settings& settings, const ModelConfig& config,
                             const DataMemory& data, const MemoryLimits& limits, Device& device);

// How many rows a job that compares texts embeds at a time (--embedding-mini-batch-size auto): 0,
// which means all, if the job fits so. Else the largest one of 32, 16, ..., 1 that fits, and 1 if
// none does.
int64_t fitting_mini_batch(const Settings& settings, const ModelConfig& config,
                           const DataMemory& data, const MemoryLimits& limits, Device& device);

// Throws kMemory, with the batch size that would fit, where a finished model that runs over rows
// needs more memory than there is.
void require_inference_memory(const Settings& settings, const ModelConfig& config,
                              const DataMemory& data, Device& device);

}  // namespace berth
