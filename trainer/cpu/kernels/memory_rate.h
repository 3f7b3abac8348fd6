#pragma once

#include <vector>

#include "storage/base/memory_level.h"
#include "storage/base/thread_pool.h"

namespace berth {

// The levels of this machine's memory, the fastest first, with the rates at which the pool's
// threads together read and write each of them now. Takes some 100 ms, and up to 256 MiB of memory
// while it measures. Empty: the system does not tell the sizes of its caches, or there is no loop
// for this CPU. DRAM is left out where the largest cache holds more than half of these 256 MiB.
std::vector<MemoryLevel> measure_memory_levels(ThreadPool& pool);

}  // namespace berth
