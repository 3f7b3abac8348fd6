#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/profiler.h"

namespace berth {

// The cost of all spans of one name for the caller, without the spans inside them.
struct ProfileCost {
  std::string name{};
  size_t calls = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

// By name, the largest seconds first. Their seconds add up to the seconds of the spans that are in
// no other span.
std::vector<ProfileCost> profile_costs(const Profiler& profiler);

// The ten largest costs as lines for people, below two lines of a head: the share of the time, the
// time and the calls in an update, GFLOP/s and their share of the peak, GB/s. `peak_flops` 0: not
// known.
std::vector<std::string> profile_lines(const Profiler& profiler, double peak_flops);

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
