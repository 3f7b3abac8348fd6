#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "entrypoint/job/job.h"
#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/report/machine_row.h"
#include "trainer/engine/device.h"

namespace berth {

// One row that --mode bench measures.
struct BenchmarkWork {
  std::string size{};    // of the model: bert_of_size()
  std::string length{};  // of its texts: RandomBatch
  bool trains = true;    // false: it predicts
};

struct BenchmarkOptions {
  double most_of_a_batch_s = 4, least_of_a_row_s = 12;
  int threads = 1;  // that make the initial values
  MemoryLimits limits{};
  std::function<void()> stop_point{};  // called before each batch; it may throw
};

// Computes at least 3 batches of random tokens, and returns the speed. nullopt: not even one
// example fits into the memory.
std::optional<MachineRow> measure_work(const BenchmarkWork& work, Device& device,
                                       const BenchmarkOptions& options);

// The largest batch of 32, 16, 8, 4, 2 and 1 whose computation takes at most `most_s` at 70 % of
// the peak rate. `flops_per_example` are the operations for one example. A peak of 0, which means
// that it is not known, gives 8.
int64_t benchmark_batch(double flops_per_example, double peak_flops, double most_s);

}  // namespace berth
