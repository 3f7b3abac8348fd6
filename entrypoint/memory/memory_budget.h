#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "storage/base/memory_limit.h"
#include "trainer/loop/memory_estimate.h"

namespace berth {

// The largest batch size, up to `most`, with which the job needs no more memory than the limit; 0:
// none fits. `memory_of` must not fall as the batch grows.
int64_t largest_fitting_batch(int64_t most, const MemoryLimit& limit,
                              const std::function<MemoryEstimate(int64_t batch)>& memory_of);

// How many examples a job computes at once, in a micro-batch and in an evaluation batch. With a
// token budget it counts tokens instead of examples.
struct BatchShape {
  int64_t batch_size = 0, micro_batches = 1;  // batch_size 0: the job does not train
  int64_t evaluated = 0;                      // --eval-batch-size; 0: as large as a micro-batch
  int64_t rows = INT64_MAX;                   // the rows of the largest data set
  int64_t tokens_an_example = 0;              // the most tokens of an example; 0: examples count
  // The memory that the job needs if an update has one example. That may be less than with several
  // examples in an update, one at a time, because gradients must then be accumulated.
  size_t alone_bytes = SIZE_MAX;
  bool recomputes = false;

  int64_t micro_batch() const {
    return std::min(rows, (batch_size + micro_batches - 1) / micro_batches);
  }
  int64_t at_once() const { return std::max(micro_batch(), evaluated); }
};

// Throws kMemory, with a batch size that would fit, where a job of this shape needs more memory
// than the limit (nullopt: there is no limit). `memory` is what the job needs, `memory_of` what it
// would need if it computed `at_once` examples at once.
void require_memory(const BatchShape& shape, const MemoryEstimate& memory,
                    const std::optional<MemoryLimit>& limit,
                    const std::function<MemoryEstimate(int64_t at_once)>& memory_of);

}  // namespace berth
