#include <cassert>

#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/pooler.h"

namespace berth {
namespace {

class PooledHead final : public Head {
 public:
  PooledHead(const ModelConfig& config, Kernels& kernels) : pooler_(config, kernels) {}

  Tensor selected(const BatchTensors& batch) const override { return pooler_.selected(batch); }
  int64_t most_selected(const BatchLimits& limits) const override {
    return pooler_.most_selected(limits);
  }
  void allocate(Arena& arena, const BatchLimits& limits) override {
    pooler_.allocate(arena, limits);
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    assert(!step.training);
    return pooler_.forward(step, hidden);
  }

  void backward(const StepContext&, Tensor) override { assert(false); }

 private:
  Pooler pooler_;
};

}  // namespace

std::unique_ptr<Head> make_pooled_head(const ModelConfig& config, Kernels& kernels) {
  return std::make_unique<PooledHead>(config, kernels);
}

}  // namespace berth
