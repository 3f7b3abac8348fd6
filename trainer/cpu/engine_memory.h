#pragma once

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/engine/device.h"

namespace berth {

// The memory that a CPU engine with these options takes at most. It adds up the parameter table,
// the network's own allocation code over parameters without memory, and the kernels' need; nothing
// is allocated.
EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels);

}  // namespace berth
