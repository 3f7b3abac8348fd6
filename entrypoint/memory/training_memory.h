#pragma once

#include <optional>

#include "entrypoint/modes/labelled_data.h"
#include "storage/base/memory_limit.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/device.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/loop/options.h"

namespace berth {

// What the rows of a job take, and what the process takes without them.
struct DataMemory {
  size_t program = 0, tables = 0;
  int64_t most_examples = 0;  // of the largest data set
};

// The process as it is, less the tables, and what it will come to need besides (threads, writers,
// connections): to be asked before data sets are made of them.
size_t program_bytes(const TrainingRows& rows);
size_t program_bytes();  // before there are tables

// Makes some of the data sets' features, to judge by.
DataMemory data_memory(size_t program, const TrainingRows& rows, Dataset& train,
                       std::optional<Dataset>& eval);

// What the whole job takes. `config` with its task and labels. Where the copies that let training
// go on while a checkpoint is written exceed the limit (nullopt: there is none), it waits instead.
MemoryEstimate training_memory(const Settings& settings, const ModelConfig& config,
                               const DataMemory& data, const std::optional<MemoryLimit>& limit,
                               Device& device);

// Throws kMemory, with the batch that would fit, where such jobs take more than the limit.
void require_training_memory(const Settings& settings, const ModelConfig& config,
                             const DataMemory& data, const std::optional<MemoryLimit>& limit,
                             Device& device);

// Of a finished model that runs over such rows. Throws kMemory, with the batch that would fit,
// where it takes more than there is.
void require_inference_memory(const Settings& settings, const ModelConfig& config,
                              const DataMemory& data, Device& device);

}  // namespace berth
