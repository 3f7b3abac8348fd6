#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "storage/base/clock.h"
#include "storage/base/process_usage.h"

namespace berth {

// The resources that this process may use, and a way to read its use.
struct UsageSource {
  std::function<ProcessUsage()> usage{};  // null: nothing is known
  int cpus = 1;
  uint64_t memory_limit_bytes = 0;  // 0: not known
};

// This process on this machine, within the limits of its container.
UsageSource usage_of_this_process();

// How much of the machine the process used between two readings. Not thread-safe.
class UsageMeter {
 public:
  struct Reading {
    // Processor time since the reading before, as a share of the time of all CPUs, from 0 to 1.
    // nullopt: no time has passed.
    std::optional<double> cpu_share{};
    std::optional<double> throttled_s{};  // since the meter was made; see ProcessUsage
    uint64_t resident_bytes = 0, peak_resident_bytes = 0;
    std::optional<double> memory_share{};  // resident_bytes, of the memory that may be used
  };

  // Takes the first reading, if there is something to read.
  explicit UsageMeter(UsageSource source, Clock steady_clock = steady_clock_s);

  // nullopt: nothing is known.
  std::optional<Reading> read();

 private:
  const UsageSource source_;
  const Clock clock_;
  ProcessUsage first_, last_;
  double last_s_ = 0;
};

}  // namespace berth
