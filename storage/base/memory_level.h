#pragma once

#include <cstdint>
#include <string>

namespace berth {

// A level of the memory, as the threads of a process see it together: "L1", "L2", "L3" or "DRAM".
struct MemoryLevel {
  std::string name{};
  uint64_t size_bytes = 0;  // of all threads' caches of this level; UINT64_MAX for DRAM
  // Of all threads together, each in its own part of the level.
  double read_bytes_per_s = 0, written_bytes_per_s = 0;
};

}  // namespace berth
