#include <cassert>

#include "trainer/cpu/network/heads.h"

namespace berth {
namespace {

class MeanHead final : public Head {
 public:
  MeanHead(const ModelConfig& config, Kernels& kernels) : config_(config), kernels_(kernels) {}

  Tensor picked(const BatchTensors&) const override { return {}; }
  int64_t most_picked(const BatchLimits&) const override { return 0; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    means_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    assert(!step.training);
    const Tensor means = means_.first(step.batch.num_sequences);
    kernels_.sequence_means(hidden, step.batch.cu_seqlens, means);
    return means;
  }

  void backward(const StepContext&, Tensor) override { assert(false); }

 private:
  const ModelConfig& config_;
  Kernels& kernels_;
  Tensor means_;  // [B,H]
};

}  // namespace

std::unique_ptr<Head> make_mean_head(const ModelConfig& config, Kernels& kernels) {
  return std::make_unique<MeanHead>(config, kernels);
}

}  // namespace berth
