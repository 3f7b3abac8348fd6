#include "trainer/model/dropout_sites.h"
#include "trainer/model/heads.h"

namespace berth {
namespace {

class TokenClassificationHead final : public Head {
 public:
  TokenClassificationHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config), kernels_(kernels), classifier_(parameters, kernels, "classifier") {}

  void allocate(Arena& arena, const BatchLimits& limits) override {
    const DType dtype = kernels_.activation_dtype();
    dropped_ = arena.make(dtype, {limits.tokens, config_.hidden_size});
    for (Tensor* tensor : {&logits_, &dlogits_}) {
      *tensor = arena.make(dtype, {limits.tokens, config_.num_outputs()});
    }
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t tokens = step.batch.num_tokens;
    const Tensor dropped = dropped_.first(tokens), logits = logits_.first(tokens);
    kernels_.dropout(hidden, dropout(step), step.state, dropped);
    kernels_.linear_forward(dropped, *classifier_.weight, classifier_.bias, logits);
    if (step.batch.labels) {
      const Tensor dlogits = step.training ? dlogits_.first(tokens) : Tensor();
      kernels_.cross_entropy(logits, step.batch.labels, step.state, dlogits);
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t tokens = step.batch.num_tokens;
    kernels_.linear_backward(dlogits_.first(tokens), dropped_.first(tokens), *classifier_.weight,
                             dhidden, Into::kOverwrite, classifier_.dweight, classifier_.dbias);
    kernels_.dropout(dhidden, dropout(step), step.state, dhidden);
  }

  void refresh() override { kernels_.refresh(*classifier_.weight); }

 private:
  Dropout dropout(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite);
  }

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear classifier_;
  Tensor dropped_;           // [T,H]
  Tensor logits_, dlogits_;  // [T,C]
};

}  // namespace

std::unique_ptr<Head> make_token_classification_head(const ModelConfig& config,
                                                     Parameters& parameters, Kernels& kernels) {
  return std::make_unique<TokenClassificationHead>(config, parameters, kernels);
}

}  // namespace berth
