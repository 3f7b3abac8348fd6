#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/base/memory_level.h"
#include "storage/base/profiler.h"

namespace berth {

// What the machine can do at most. 0 and empty: not known.
struct MachineLimits {
  double peak_flops = 0;
  std::vector<MemoryLevel> memory{};  // the fastest level first
};

// The cost of all spans of one name for the caller, without the spans inside them.
struct ProfileCost {
  std::string name{};
  size_t calls = 0;
  double seconds = 0, flops = 0, bytes = 0;
  // The least time that the machine's limits allow, by limit: "products", or a level's name. A span
  // stands at the limit that takes longer: all of its FLOPs at the peak, or all of its bytes at the
  // reading rate of the first level that holds them.
  std::map<std::string, double> least_s{};
};

// By name, the largest seconds first. Their seconds add up to the seconds of the spans that are in
// no other span.
std::vector<ProfileCost> profile_costs(const Profiler& profiler, const MachineLimits& limits = {});

// The ten largest costs as lines for people, below two lines of a head. A line has the share of the
// time, and the time and the calls in an update. Then come GFLOP/s, GB/s, the largest limit, and
// the share of the time that all limits would take.
std::vector<std::string> profile_lines(const Profiler& profiler, const MachineLimits& limits);

struct TraceProcess {
  std::string name{};
  int32_t pid = 0;
};

// A profiler's records, as a trace in Perfetto's format (perfetto.dev/docs/reference/
// trace-packet-proto), which ui.perfetto.dev opens. The process has a track "training" for the
// operations and phases, with their bytes and FLOP/s. It also has a track for each thread of the
// pool.
std::vector<std::byte> perfetto_trace(const Profiler& profiler, const TraceProcess& process);

}  // namespace berth
