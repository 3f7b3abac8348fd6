#pragma once

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/engine/device.h"

namespace berth {

// The memory that a CPU engine with these options takes at most. The parameter table, the network's
// own allocation code over parameters without memory, and the kernels are asked; nothing is
// allocated.
EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels);

}  // namespace berth
