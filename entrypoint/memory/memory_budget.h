#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/process_resources.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/memory_estimate.h"
#include "trainer/model/batch.h"

namespace berth {

// The memory that a job may use. nullopt: no limit is known.
struct MemoryLimits {
  std::optional<MemoryLimit> host{};
  std::optional<MemoryLimit> device{};  // of each device that has memory of its own

  bool host_allows(const MemoryEstimate& memory) const {
    return !host || memory.on_host_yet() <= host->size_bytes;
  }
  bool device_allows(const MemoryEstimate& memory) const {
    return !device || memory.on_device() <= device->size_bytes;
  }
  bool allow(const MemoryEstimate& memory) const {
    return host_allows(memory) && device_allows(memory);
  }
};

// The limits of this process and of the device, if they are known.
MemoryLimits memory_limits(const Device& device);

// The largest batch size, up to `most`, with which the job needs no more memory than the limits; 0:
// none fits. `memory_of` must not fall as the batch grows.
int64_t largest_fitting_batch(int64_t most, const MemoryLimits& limits,
                              const std::function<MemoryEstimate(int64_t batch)>& memory_of);

// How many examples a job computes at once, in a micro-batch and in an evaluation batch. With a
// token budget it counts tokens instead of examples.
struct BatchSizes {
  int64_t batch_size = 0, micro_batches = 1;  // batch_size 0: the job does not train
  int64_t evaluated = 0;                      // --eval-batch-size; 0: as large as a micro-batch
  int64_t rows = INT64_MAX;                   // the rows of the largest data set
  int64_t tokens_an_example = 0;              // the most tokens of an example; 0: examples count
  // Whether the job fits if an update has one example. That may take less memory than several
  // examples in an update, one at a time, because gradients must then be accumulated.
  bool fits_alone = false;
  bool recomputes = false;
  // Whether the rows of a micro-batch are compared: smaller ones make other updates. And whether
  // the user wants all of them embedded at once.
  bool compares_rows = false, compares_all_at_once = false;
  // A hint how the teacher's outputs could take less memory; empty: there are no such outputs.
  std::string smaller_outputs{};

  int64_t micro_batch() const {
    return std::min(rows, (batch_size + micro_batches - 1) / micro_batches);
  }
  int64_t at_once() const { return std::max(micro_batch(), evaluated); }
};

// Throws kMemory if a job of this shape needs more memory than the limits allow on the device or on
// the host. The error names a batch size that fits. `memory` is the job's need. `memory_of` gives
// the need if the job computed `at_once` examples at once.
void require_memory(const BatchSizes& shape, const MemoryEstimate& memory,
                    const MemoryLimits& limits,
                    const std::function<MemoryEstimate(int64_t at_once)>& memory_of);

// The parts of an estimate with their names: on the host, and on a device that has memory of its
// own. A device that uses the host's memory has no parts.
using MemoryParts = std::vector<std::pair<const char*, size_t>>;
MemoryParts host_parts(const MemoryEstimate& memory);
MemoryParts device_parts(const MemoryEstimate& memory);

// One line for the log: "at most 5.4 GiB of this machine's memory, 23.5 GiB (program 41.2 MiB,
// ...)", and the same for a device that has memory of its own.
std::string memory_text(const MemoryEstimate& memory, const MemoryLimits& limits);

// The size of the largest batch that a job computes at once: a micro-batch in training, or an
// evaluation batch, of data sets of at most `most_examples` examples, each of `texts` sequences.
BatchLimits batch_limits(const Settings& settings, bool training, int64_t most_examples = INT64_MAX,
                         int64_t texts = 1);

// The most tokens of one update, over all of its micro-batches.
int64_t update_tokens(const Settings& settings, int64_t texts = 1);

// The engine of a job that trains a model, or only infers, over data sets of at most
// `most_examples`. `config` has its task and labels.
EngineOptions training_engine(const Settings& settings, const ModelConfig& config,
                              int64_t most_examples);
EngineOptions inference_engine(const Settings& settings, const ModelConfig& config,
                               int64_t most_examples);

}  // namespace berth
