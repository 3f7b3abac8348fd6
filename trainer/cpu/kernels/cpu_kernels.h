#pragma once

#include <memory>
#include <string_view>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/model/precision.h"

namespace berth {

// The CPU's: fp32 matrix products by OpenBLAS, bf16 ones by our own micro-kernels, everything else
// by loops compiled once for each instruction set (baseline x86-64, AVX2, AVX-512), of which the
// best that this CPU has is picked at run time. `instruction_set` forces a lower one ("baseline",
// "avx2", "avx512"; "" picks); kUsage when the CPU lacks it, or products of bf16. "avx512" means
// AVX512_BF16 for those, where "" may pick AMX; lower ones emulate them, for tests that force that:
// it is slower than fp32. `pool` must outlive the result, and only the result may use it meanwhile.
std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set = "",
                                          Precision precision = Precision::kFp32);

}  // namespace berth
