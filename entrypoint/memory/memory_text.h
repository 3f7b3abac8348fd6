#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/memory_limit.h"
#include "trainer/loop/memory_estimate.h"

namespace berth {

// The parts of an estimate with their names.
std::array<std::pair<const char*, size_t>, 8> memory_parts(const MemoryEstimate& memory);

// One line for the log: "at most 5.4 GiB of this machine's memory, 23.5 GiB (program 41.2 MiB,
// ...)".
std::string memory_text(const MemoryEstimate& memory, const std::optional<MemoryLimit>& limit);

}  // namespace berth
