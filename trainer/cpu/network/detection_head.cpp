#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

class DetectionHead final : public Head {
 public:
  DetectionHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(detection_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        prediction_(parameters, names_.prediction) {}

  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    for (Tensor* tensor : {&pre_, &activated_, &dactivated_}) {
      *tensor = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
    }
    for (Tensor* tensor : {&logits_, &dlogits_}) {
      *tensor = arena.make(DType::kF32, {limits.tokens, 1});
    }
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor activated = activated_.first(tokens), logits = logits_.first(tokens);
    hidden_ = hidden;
    dense_.activation_forward(kernels_, hidden, names_.activation, pre_.first(tokens), activated);
    prediction_.forward(kernels_, activated, logits);
    if (step.batch.labelled()) {
      kernels_.binary_cross_entropy({logits, step.batch.targets, step.batch.weights}, step.state,
                                    step.training ? dlogits_.first(tokens) : Tensor());
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor d = dactivated_.first(tokens);
    prediction_.backward(kernels_, dlogits_.first(tokens), activated_.first(tokens), d,
                         Into::kOverwrite);
    dense_.activation_backward(kernels_, d, {pre_.first(tokens), names_.activation}, hidden_,
                               dhidden, Into::kOverwrite);
  }

 private:
  const ModelConfig& config_;
  const DetectionHeadNames names_;
  Kernels& kernels_;
  Linear dense_, prediction_;
  Tensor hidden_;                        // [T,H], the input of the last forward
  Tensor pre_, activated_, dactivated_;  // [T,H]
  Tensor logits_, dlogits_;              // [T,1]
};

}  // namespace

std::unique_ptr<Head> make_detection_head(const ModelConfig& config, Parameters& parameters,
                                          Kernels& kernels) {
  return std::make_unique<DetectionHead>(config, parameters, kernels);
}

}  // namespace berth
