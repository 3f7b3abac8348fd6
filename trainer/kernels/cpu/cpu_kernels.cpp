#include "trainer/kernels/cpu/cpu_kernels.h"

#include <cstring>

#include "storage/base/text.h"
#include "trainer/kernels/cpu/cpu_fp32.h"
#include "trainer/kernels/cpu/flush_denormals.h"
#include "trainer/kernels/cpu/gemm.h"
#include "trainer/kernels/cpu/host_memory.h"
#include "trainer/kernels/cpu/instruction_set.h"

namespace berth {
namespace {

// OpenBLAS packs for itself, so the master is all there is.
class CpuWeight final : public Weight {
 public:
  explicit CpuWeight(Tensor master) : master_(master) {}
  Tensor master() const override { return master_; }

 private:
  Tensor master_;
};

}  // namespace

std::unique_ptr<Kernels> make_cpu_kernels(ThreadPool& pool, std::string_view instruction_set) {
  return std::make_unique<CpuFp32>(pool, pick_loops(instruction_set));
}

std::string CpuFp32::description() const {
  return cat("cpu-fp32-", loops_.instruction_set, ", OpenBLAS ", blas_core(), ", ", pool_.size(),
             pool_.size() == 1 ? " thread" : " threads");
}

void CpuFp32::parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn) {
  pool_.parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
    const FlushDenormals flush;
    fn(begin, end, thread);
  });
}

std::unique_ptr<Memory> CpuFp32::allocate(size_t size_bytes) { return allocate_host(size_bytes); }

void CpuFp32::upload(Tensor to, const void* from) {
  if (to.size_bytes() != 0) std::memcpy(to.data, from, to.size_bytes());
}

void CpuFp32::download(void* to, Tensor from) {
  if (from.size_bytes() != 0) std::memcpy(to, from.data, from.size_bytes());
}

void CpuFp32::zero(Tensor x) {
  parallel(static_cast<int64_t>(x.size_bytes()), 1 << 18, [&](int64_t begin, int64_t end, int) {
    std::memset(x.data + begin, 0, static_cast<size_t>(end - begin));
  });
}

void CpuFp32::add(Tensor x, Tensor y) {
  assert(x.elements() == y.elements());
  parallel(x.elements(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    loops_.add(x.f32() + begin, y.f32() + begin, end - begin);
  });
}

std::unique_ptr<Weight> CpuFp32::make_weight(Tensor master) {
  assert(master.rank == 2);
  return std::make_unique<CpuWeight>(master);
}

void CpuFp32::refresh(Weight&) {}

std::unique_ptr<StepState> CpuFp32::make_step_state() { return std::make_unique<CpuStepState>(); }

void CpuFp32::begin_step(StepState& state, const StepInputs& inputs) {
  CpuStepState fresh;
  fresh.inputs = inputs;
  cpu_state(state) = fresh;
}

void CpuFp32::begin_micro_batch(StepState& state, uint64_t first_token, uint64_t first_sequence) {
  cpu_state(state).first_token = first_token;
  cpu_state(state).first_sequence = first_sequence;
}

StepOutcome CpuFp32::read_step(StepState& state) {
  const CpuStepState& cpu = cpu_state(state);
  return {.loss_sum = cpu.loss_sum, .examples = cpu.examples, .grad_norm = cpu.grad_norm};
}

}  // namespace berth
