#pragma once

#include <memory>
#include <string_view>

#include "trainer/kernels/kernels.h"
#include "trainer/kernels/thread_pool.h"

namespace berth {

// What the factors of the large products are rounded to. kAuto: bf16 where this CPU multiplies it.
enum class Precision { kAuto, kFp32, kBf16 };

// The CPU's: fp32 matrix products by OpenBLAS, bf16 ones by our own micro-kernels, everything else
// by loops compiled once for each instruction set (baseline x86-64, AVX2, AVX-512), of which the
// best that this CPU has is picked at run time. `instruction_set` forces a lower one ("baseline",
// "avx2", "avx512"; "" picks); kUsage when the CPU lacks it, or products of bf16. "avx512" means
// AVX512_BF16 for those, where "" may pick AMX; lower ones emulate them, for tests that force that:
// it is slower than fp32. `pool` must outlive the result, and only the result may use it meanwhile.
std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set = "",
                                          Precision precision = Precision::kFp32);

}  // namespace berth
