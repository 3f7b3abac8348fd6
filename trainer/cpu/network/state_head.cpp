#include <cassert>

#include "trainer/cpu/network/heads.h"

namespace berth {
namespace {

class StateHead final : public Head {
 public:
  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }
  void allocate(Arena&, const BatchLimits&) override {}

  Tensor forward(const StepContext& step, Tensor hidden) override {
    assert(!step.training);
    return hidden.first(step.batch.num_tokens);
  }

  void backward(const StepContext&, Tensor) override { assert(false); }
};

}  // namespace

std::unique_ptr<Head> make_state_head() { return std::make_unique<StateHead>(); }

}  // namespace berth
