#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace berth {

struct MemoryLimit {
  uint64_t size_bytes = 0;
  std::string what{};  // "the container's limit", "this machine's memory"
  bool operator==(const MemoryLimit&) const = default;
};

// What this process may hold in memory: the smaller of its control groups' limits (memory.max of
// version 2, memory.limit_in_bytes of version 1) and the machine's MemTotal. nullopt: neither can
// be read. `root` stands for "/".
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root = "/");

// What this process holds in memory now; 0 where that cannot be read.
uint64_t resident_bytes();

// Gives the system back what the process has freed but holds, where it can.
void return_freed_memory();

}  // namespace berth
