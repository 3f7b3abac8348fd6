#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace berth {

// What this process has used so far.
struct ProcessUsage {
  double cpu_s = 0;  // processor time of all of its threads
  uint64_t resident_bytes = 0, peak_resident_bytes = 0;
  // How long its control groups have held its threads back, because they had used their share of
  // the processors. nullopt: no group counts that.
  std::optional<double> throttled_s{};
};

// Tests pass a `root` that stands for "/", from which throttled_s is read.
ProcessUsage process_usage(const std::filesystem::path& root = "/");

}  // namespace berth
