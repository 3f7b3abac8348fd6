#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/part_names.h"

namespace berth {
namespace {

class SequenceHead final : public Head {
 public:
  SequenceHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels)
      : config_(config),
        names_(sequence_head_names(config)),
        kernels_(kernels),
        dense_(parameters, names_.dense),
        classifier_(parameters, names_.classifier) {}

  Tensor picked(const BatchTensors& batch) const override {
    return batch.cu_seqlens.first(batch.num_sequences);
  }
  int64_t most_picked(const BatchLimits& limits) const override { return limits.sequences; }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    for (Tensor* tensor : {&dropped_, &pre_, &pooled_, &dpooled_}) {
      *tensor = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
    }
    for (Tensor* tensor : {&logits_, &dlogits_}) {
      *tensor = arena.make(DType::kF32, {limits.sequences, config_.num_outputs()});
    }
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t sequences = step.batch.num_sequences;
    const Tensor pooled = pooled_.first(sequences), logits = logits_.first(sequences);
    first_ = hidden;
    if (names_.drops_before_dense) {
      first_ = dropped_.first(sequences);
      kernels_.dropout(hidden, before(step), step.state, first_);
    }
    dense_.activation_forward(kernels_, first_, names_.activation, pre_.first(sequences), pooled);
    kernels_.dropout(pooled, after(step), step.state, pooled);
    classifier_.forward(kernels_, pooled, logits);
    if (step.batch.labelled()) {
      add_loss(step, logits, step.training ? dlogits_.first(sequences) : Tensor());
    }
    return logits;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    const int64_t sequences = step.batch.num_sequences;
    const Tensor dpooled = dpooled_.first(sequences);
    classifier_.backward(kernels_, dlogits_.first(sequences), pooled_.first(sequences), dpooled,
                         Into::kOverwrite);
    kernels_.dropout(dpooled, after(step), step.state, dpooled);
    dense_.activation_backward(kernels_, dpooled, {pre_.first(sequences), names_.activation},
                               first_, dhidden, Into::kOverwrite);
    if (names_.drops_before_dense) kernels_.dropout(dhidden, before(step), step.state, dhidden);
  }

 private:
  void add_loss(const StepContext& step, Tensor logits, Tensor dlogits) {
    const BatchTensors& batch = step.batch;
    const LossInputs of_targets{logits, batch.targets, batch.weights};
    const LossInputs of_labels{logits, batch.labels, batch.weights};
    const LossKind loss = traits(config_.task).loss;
    if (loss == LossKind::kSquaredError) {
      kernels_.mean_squared_error(of_targets, step.state, dlogits);
    } else if (loss == LossKind::kBinaryCrossEntropy) {
      kernels_.binary_cross_entropy(of_targets, step.state, dlogits);
    } else if (batch.teacher) {
      kernels_.distilled_cross_entropy(of_labels, batch.teacher, step.distillation,
                                       step.label_smoothing, step.state, dlogits);
    } else {
      kernels_.cross_entropy(of_labels, step.label_smoothing, step.state, dlogits);
    }
  }

  Dropout before(const StepContext& step) const {
    return step.dropout(config_.pooler_dropout(), kFirstTokenSite, DropoutRows::kSequences);
  }
  Dropout after(const StepContext& step) const {
    return step.dropout(config_.head_dropout(), kClassifierSite, DropoutRows::kSequences);
  }

  const ModelConfig& config_;
  const SequenceHeadNames names_;
  Kernels& kernels_;
  Linear dense_, classifier_;
  Tensor first_;                             // [B,H], the dense layer's input in the last forward
  Tensor dropped_, pre_, pooled_, dpooled_;  // [B,H]
  Tensor logits_, dlogits_;                  // [B,C]
};

}  // namespace

std::unique_ptr<Head> make_sequence_head(const ModelConfig& config, Parameters& parameters,
                                         Kernels& kernels) {
  return std::make_unique<SequenceHead>(config, parameters, kernels);
}

}  // namespace berth
