#include <optional>

#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/transform.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

class TokenHead final : public Head {
 public:
  TokenHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config), kernels_(kernels), classifier_(parameters, token_head_name(config)) {
    if (!config.transforms_tokens()) return;
    const TransformNames names = token_transform_names(config);
    transform_.emplace(config, names.dense, names.norm, names.activation, parameters, kernels);
  }

  Tensor selected(const BatchTensors&) const override { return {}; }
  int64_t most_selected(const BatchLimits&) const override { return 0; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    dropped_ = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
    if (transform_) {
      dtransformed_ = arena.make(DType::kF32, {limits.tokens, config_.hidden_size});
      transform_->allocate(arena, limits.tokens);
    }
    for (Tensor* tensor : {&logits_, &dlogits_}) {
      *tensor = arena.make(DType::kF32, {limits.tokens, config_.num_outputs()});
    }
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor dropped = dropped_.first(tokens), logits = logits_.first(tokens);
    if (transform_) transform_->forward(hidden, dropped);
    kernels_.dropout(transform_ ? dropped : hidden, dropout(step), step.state, dropped);
    classifier_.forward(kernels_, dropped, logits);
    if (step.batch.labelled()) {
      add_loss(step, logits, step.training ? dlogits_.first(tokens) : Tensor());
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor d = transform_ ? dtransformed_.first(tokens) : dhidden;
    classifier_.backward(kernels_, dlogits_.first(tokens), dropped_.first(tokens), d,
                         Into::kOverwrite);
    kernels_.dropout(d, dropout(step), step.state, d);
    if (transform_) transform_->backward(d, dhidden);
  }

 private:
  void add_loss(const StepContext& step, Tensor logits, Tensor dlogits) {
    const BatchTensors& batch = step.batch;
    const LossKind loss = traits(config_.task).loss;
    if (loss == LossKind::kMeanSquaredError) {
      kernels_.mean_squared_error({logits, batch.targets, batch.weights}, step.state, dlogits,
                                  OverOutputs::kMean);
    } else if (loss == LossKind::kSpanCrossEntropy) {
      kernels_.span_cross_entropy({.logits = logits,
                                   .cu_seqlens = batch.cu_seqlens,
                                   .starts = batch.labels,
                                   .ends = batch.ends,
                                   .weights = batch.weights},
                                  step.state, dlogits);
    } else {
      kernels_.cross_entropy({logits, batch.labels, batch.weights}, step.label_smoothing,
                             step.state, dlogits);
    }
  }

  Dropout dropout(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite);
  }

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear classifier_;
  std::optional<Transform> transform_;
  Tensor dropped_;           // [T,H]
  Tensor dtransformed_;      // [T,H], with a transform
  Tensor logits_, dlogits_;  // [T,C]
};

}  // namespace

std::unique_ptr<Head> make_token_head(const ModelConfig& config, Parameters& parameters,
                                      Kernels& kernels) {
  return std::make_unique<TokenHead>(config, parameters, kernels);
}

}  // namespace berth
