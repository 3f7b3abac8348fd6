#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "storage/base/memory_limit.h"
#include "trainer/loop/memory_estimate.h"

namespace berth {

// The largest batch, at most `most`, whose job takes no more than the limit; 0: none does. A larger
// batch takes no less.
int64_t largest_fitting_batch(int64_t most, const MemoryLimit& limit,
                              const std::function<MemoryEstimate(int64_t batch)>& memory_of);

// How many examples a job computes at once: of an update, in its parts, and of an evaluation; or
// how many tokens, where there is a budget of them.
struct BatchShape {
  int64_t batch_size = 0, micro_batches = 1;  // 0: it trains none
  int64_t evaluated = 0;                      // by --eval-batch-size; 0: as a micro-batch
  int64_t rows = INT64_MAX;                   // there are no more
  int64_t tokens_an_example = 0;              // at most; 0: examples are counted
  // What the job takes by one example an update: it may be less than by one of several at a time.
  size_t alone_bytes = SIZE_MAX;
  bool recomputes = false;

  int64_t micro_batch() const {
    return std::min(rows, (batch_size + micro_batches - 1) / micro_batches);
  }
  int64_t at_once() const { return std::max(micro_batch(), evaluated); }
};

// Throws kMemory, with a batch that would fit, where a job of this shape, which takes `memory`,
// takes more than the limit; nullopt: there is none. `memory_of` a job that computes so many at
// once.
void require_memory(const BatchShape& shape, const MemoryEstimate& memory,
                    const std::optional<MemoryLimit>& limit,
                    const std::function<MemoryEstimate(int64_t at_once)>& memory_of);

}  // namespace berth
