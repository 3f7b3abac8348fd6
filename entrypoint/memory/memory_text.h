#pragma once

#include <string>
#include <utility>
#include <vector>

#include "entrypoint/memory/memory_budget.h"
#include "trainer/loop/memory_estimate.h"

namespace berth {

// The parts of an estimate with their names: on the host, and on a device that has memory of its
// own. A device that uses the host's memory has no parts.
using MemoryParts = std::vector<std::pair<const char*, size_t>>;
MemoryParts host_parts(const MemoryEstimate& memory);
MemoryParts device_parts(const MemoryEstimate& memory);

// One line for the log: "at most 5.4 GiB of this machine's memory, 23.5 GiB (program 41.2 MiB,
// ...)", and the same for a device that has memory of its own.
std::string memory_text(const MemoryEstimate& memory, const MemoryLimits& limits);

}  // namespace berth
