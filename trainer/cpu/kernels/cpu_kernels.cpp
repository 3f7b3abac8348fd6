#include "trainer/cpu/kernels/cpu_kernels.h"

#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {
namespace {

constexpr std::string_view kAvx512 = "avx512";

const Bf16Loops* pick_bf16_loops(Precision precision, std::string_view instruction_set) {
  if (precision == Precision::kFp32) return nullptr;
  const Bf16Loops* const native = pick_native_bf16_loops(instruction_set);
  if (native != nullptr || precision != Precision::kBf16) return native;
  if (instruction_set.empty() || instruction_set == kAvx512) refuse_bf16();
  return &bf16_portable::loops;
}

}  // namespace

const Bf16Loops* pick_native_bf16_loops(std::string_view instruction_set) {
  const bool is_avx512 = instruction_set == kAvx512;
  if (!instruction_set.empty() && !is_avx512) return nullptr;
  const std::vector<const Bf16Loops*> native = native_bf16_loops();
  if (native.empty()) return nullptr;
  return is_avx512 ? native.back() : native.front();
}

void refuse_bf16() {
  throw Error(Code::kUsage, "this CPU has no instructions for products of bf16 (AVX512_BF16)", "",
              "use --precision fp32, or auto, which takes what there is");
}

std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set,
                                          Precision precision) {
  return std::make_unique<Kernels>(
      pool, pick_loops(instruction_set), pick_bf16_loops(precision, instruction_set),
      precision == Precision::kInt8 ? &pick_int8_loops(instruction_set) : nullptr);
}

Kernels::Kernels(ThreadPool& pool, const CpuLoops& loops, const Bf16Loops* bf16,
                 const Int8Loops* int8)
    : pool_(pool), loops_(loops) {
  if (bf16 != nullptr) bf16_.emplace(pool, *bf16);
  if (int8 != nullptr) int8_.emplace(pool, *int8);
}

std::string Kernels::description() const {
  const std::string_view products = int8_   ? int8_->loops().name
                                    : bf16_ ? bf16_->loops().name
                                            : "fp32";
  // Checkpoints of a program that kept operands in fp32 name no operands.
  return cat("cpu-", products, "-", loops_.instruction_set, bf16_ ? ", bf16 operands" : "",
             ", OpenBLAS ", blas_core(), ", ", counted(pool_.size(), "thread"));
}

Precision Kernels::precision() const {
  return int8_ ? Precision::kInt8 : bf16_ ? Precision::kBf16 : Precision::kFp32;
}

void Kernels::parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn) {
  pool_.parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
    const FlushDenormals flush;
    fn(begin, end, thread);
  });
}

void Kernels::zero(Tensor x) {
  const ProfileScope scope(pool_.profiler(), "zero", bytes_of({x}));
  parallel(static_cast<int64_t>(x.size_bytes()), 1 << 18, [&](int64_t begin, int64_t end, int) {
    std::memset(x.data + begin, 0, static_cast<size_t>(end - begin));
  });
}

void Kernels::add(ConstTensor x, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "add", bytes_of({x, y, y}));
  assert(x.elements() == y.elements());
  parallel(x.elements(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    loops_.add(x.f32() + begin, y.f32() + begin, end - begin);
  });
}

void Kernels::convert(ConstTensor x, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "convert", bytes_of({x, y}));
  assert(x.elements() == y.elements());
  parallel(x.elements(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    const int64_t count = end - begin;
    if (x.dtype == y.dtype) {
      const auto at = static_cast<size_t>(begin) * size_of(x.dtype);
      std::memcpy(y.data + at, x.data + at, static_cast<size_t>(count) * size_of(x.dtype));
    } else if (x.dtype == DType::kBF16) {
      loops_.from_bf16(x.bf16() + begin, y.f32() + begin, count);
    } else {
      loops_.to_bf16(x.f32() + begin, y.bf16() + begin, count);
    }
  });
}

std::unique_ptr<Weight> Kernels::make_weight(ConstTensor values, WeightUse use) {
  return std::make_unique<Weight>(values, use, bf16_ ? &*bf16_ : nullptr,
                                  int8_ ? &*int8_ : nullptr);
}

}  // namespace berth
