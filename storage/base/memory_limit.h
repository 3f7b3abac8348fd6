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

// The memory that this process may use: the smaller of the machine's MemTotal and its cgroup limits
// (memory.max in v2, memory.limit_in_bytes in v1). Returns nullopt if neither can be read. Tests
// pass a `root` that stands for "/".
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root = "/");

// The resident memory of this process, in bytes; 0 if it cannot be read.
uint64_t resident_bytes();

// The most resident memory that this process has had, in bytes; 0 if it cannot be read.
uint64_t peak_resident_bytes();

// Returns memory to the system that the process has freed but the allocator still keeps. Does
// nothing without glibc.
void return_freed_memory();

}  // namespace berth
