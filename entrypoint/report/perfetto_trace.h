#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/profiler.h"

namespace berth {

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
