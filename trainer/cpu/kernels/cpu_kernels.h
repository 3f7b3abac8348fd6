#pragma once

#include <memory>
#include <string_view>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/model/update.h"

namespace berth {

// The loops for products of bf16 that this CPU has instructions for; null: it has none.
// `instruction_set` is as in make_cpu_kernels().
const Bf16Loops* pick_native_bf16_loops(std::string_view instruction_set);

// Throws kUsage: this CPU has no such instructions.
[[noreturn]] void refuse_bf16();

// Makes the kernels for this CPU. The loops were compiled for several instruction sets (baseline
// x86-64, AVX2, AVX-512). `instruction_set` names one of them ("baseline", "avx2", "avx512"), and
// "" means the best that this CPU has. For bf16 products, "avx512" means AVX512_BF16, and "" may
// also mean AMX. The lower sets emulate bf16, for tests, more slowly than fp32. int8 products exist
// for every instruction set, and `precision` kInt8 is for engines that do not train. Throws kUsage
// when the CPU lacks the instruction set, or lacks instructions for the bf16 products that
// `precision` demands. `pool` must outlive the result, and nothing else may use it meanwhile.
std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set = "",
                                          Precision precision = Precision::kFp32);

}  // namespace berth
