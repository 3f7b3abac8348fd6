#pragma once

#include <memory>
#include <string_view>

#include "trainer/kernels/kernels.h"
#include "trainer/kernels/thread_pool.h"

namespace berth {

// fp32 on the CPU: matrix products by OpenBLAS, everything else by loops compiled once for each
// instruction set (baseline x86-64, AVX2, AVX-512), of which the best that this CPU has is picked
// at run time. `instruction_set` forces a lower one ("baseline", "avx2", "avx512"; "" picks);
// kUsage when the CPU lacks it. `pool` must outlive the result, and only the result may use it
// meanwhile.
std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set = "");

}  // namespace berth
