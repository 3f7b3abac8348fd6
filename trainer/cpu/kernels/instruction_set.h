#pragma once

#include <string_view>
#include <vector>

#include "trainer/cpu/kernels/loops.h"

namespace berth {

// The loops compiled for the instruction sets that this CPU has, best first; never empty.
std::vector<const CpuLoops*> supported_loops();

// The best of them, or the one that is named. Throws kUsage when this CPU or this build lacks it.
const CpuLoops& pick_loops(std::string_view instruction_set);

}  // namespace berth
