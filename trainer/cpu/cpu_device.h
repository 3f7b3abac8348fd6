#pragma once

#include <memory>
#include <string_view>

#include "trainer/engine/device.h"
#include "trainer/model/update.h"

namespace berth {

// Whether this CPU has instructions for products of bf16, without those above `instruction_set`.
bool multiplies_bf16(std::string_view instruction_set = "");

// The CPUs that this process may use, with `threads` threads of their own. They compute without the
// instructions above `instruction_set`: "baseline", "avx2", "avx512", or "" for all that this CPU
// has. kAuto becomes kBf16 where multiplies_bf16(), else kFp32. Throws kUsage on another
// instruction set, and when `precision` is kBf16 and not multiplies_bf16().
std::unique_ptr<Device> make_cpu_device(int threads, std::string_view instruction_set = "",
                                        Precision precision = Precision::kFp32);

}  // namespace berth
