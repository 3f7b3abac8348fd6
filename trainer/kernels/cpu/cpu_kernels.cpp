#include "trainer/kernels/cpu/cpu_kernels.h"

#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/kernels/cpu/cpu_backend.h"
#include "trainer/kernels/cpu/flush_denormals.h"
#include "trainer/kernels/cpu/gemm.h"
#include "trainer/kernels/cpu/host_memory.h"
#include "trainer/kernels/cpu/instruction_set.h"

namespace berth {
namespace {

const Bf16Loops* pick_bf16_loops(Precision precision, std::string_view instruction_set) {
  if (precision == Precision::kFp32) return nullptr;
  const bool is_avx512 = instruction_set == "avx512";
  if (instruction_set.empty() || is_avx512) {
    const std::vector<const Bf16Loops*> native = native_bf16_loops();
    if (!native.empty()) return is_avx512 ? native.back() : native.front();
  } else if (precision == Precision::kBf16) {
    return &bf16_portable::loops;
  }
  if (precision == Precision::kAuto) return nullptr;
  throw Error(Code::kUsage, "this CPU has no instructions for products of bf16 (AVX512_BF16)", "",
              "use --precision fp32, or auto, which takes what there is");
}

}  // namespace

std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set,
                                          Precision precision) {
  return std::make_unique<CpuBackend>(pool, pick_loops(instruction_set),
                                      pick_bf16_loops(precision, instruction_set));
}

CpuBackend::CpuBackend(ThreadPool& pool, const CpuLoops& loops, const Bf16Loops* bf16)
    : pool_(pool), loops_(loops) {
  if (bf16 != nullptr) bf16_.emplace(pool, *bf16);
}

std::string CpuBackend::description() const {
  return cat("cpu-", bf16_ ? bf16_->loops().name : "fp32", "-", loops_.instruction_set,
             ", OpenBLAS ", blas_core(), ", ", pool_.size(),
             pool_.size() == 1 ? " thread" : " threads");
}

void CpuBackend::parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn) {
  pool_.parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
    const FlushDenormals flush;
    fn(begin, end, thread);
  });
}

std::unique_ptr<Memory> CpuBackend::allocate(size_t size_bytes) {
  return allocate_host(size_bytes);
}

void CpuBackend::expect_sparse(Tensor x) { expect_sparse_host(x.data, x.size_bytes()); }

void CpuBackend::upload(Tensor to, const void* from) {
  if (to.size_bytes() != 0) std::memcpy(to.data, from, to.size_bytes());
}

void CpuBackend::download(void* to, Tensor from) {
  if (from.size_bytes() != 0) std::memcpy(to, from.data, from.size_bytes());
}

void CpuBackend::zero(Tensor x) {
  parallel(static_cast<int64_t>(x.size_bytes()), 1 << 18, [&](int64_t begin, int64_t end, int) {
    std::memset(x.data + begin, 0, static_cast<size_t>(end - begin));
  });
}

void CpuBackend::add(Tensor x, Tensor y) {
  assert(x.elements() == y.elements());
  parallel(x.elements(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    loops_.add(x.f32() + begin, y.f32() + begin, end - begin);
  });
}

void CpuBackend::convert(Tensor x, Tensor y) {
  assert(x.elements() == y.elements());
  parallel(x.elements(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    const int64_t count = end - begin;
    if (x.dtype == DType::kBF16) {
      loops_.from_bf16(x.bf16() + begin, y.f32() + begin, count);
    } else if (y.dtype == DType::kBF16) {
      loops_.to_bf16(x.f32() + begin, y.bf16() + begin, count);
    } else {
      loops_.copy(x.f32() + begin, y.f32() + begin, count);
    }
  });
}

std::unique_ptr<Weight> CpuBackend::make_weight(Tensor master, WeightUse use) {
  assert(master.rank == 2);
  auto weight = std::make_unique<CpuWeight>(master, use, bf16_ ? &*bf16_ : nullptr);
  refresh(*weight);
  return weight;
}

void CpuBackend::refresh(Weight& weight) {
  CpuWeight& packed = static_cast<CpuWeight&>(weight);
  if (!packed.forward) return;
  const Tensor master = packed.master();
  bf16_->pack({master.f32(), master.columns(), true}, *packed.forward,
              packed.backward ? &*packed.backward : nullptr);
}

size_t CpuBackend::packed_bytes(int64_t rows, int64_t columns, WeightUse use) const {
  if (!bf16_ || rows < kLeastBf16Outputs) return 0;
  const auto [forward, backward] = bf16_->packs(use);
  return (forward ? bf16_->matrix_bytes(columns, rows) : 0) +
         (backward ? bf16_->matrix_bytes(rows, columns) : 0);
}

std::unique_ptr<StepState> CpuBackend::make_step_state() {
  return std::make_unique<CpuStepState>();
}

void CpuBackend::begin_step(StepState& state, const StepInputs& inputs) {
  CpuStepState fresh;
  fresh.inputs = inputs;
  cpu_state(state) = fresh;
}

void CpuBackend::begin_micro_batch(StepState& state, uint64_t first_token,
                                   uint64_t first_sequence) {
  cpu_state(state).first_token = first_token;
  cpu_state(state).first_sequence = first_sequence;
}

StepOutcome CpuBackend::read_step(StepState& state) {
  const CpuStepState& cpu = cpu_state(state);
  return {.loss_sum = cpu.loss_sum, .examples = cpu.examples, .grad_norm = cpu.grad_norm};
}

}  // namespace berth
