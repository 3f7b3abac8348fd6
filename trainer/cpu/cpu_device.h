#pragma once

#include <memory>
#include <string_view>

#include "trainer/engine/device.h"
#include "trainer/model/precision.h"

namespace berth {

// The CPUs that this process may use, with `threads` threads of their own. `instruction_set` forces
// a lower one than this CPU has ("baseline", "avx2", "avx512"; "" picks the best). Throws kUsage
// when this CPU lacks it, or cannot multiply bf16 where `precision` asks for it.
std::unique_ptr<Device> make_cpu_device(int threads, std::string_view instruction_set = "",
                                        Precision precision = Precision::kFp32);

}  // namespace berth
