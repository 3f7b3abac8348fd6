#include <optional>

#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/layer_norm.h"
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
        classifier_(parameters, names_.classifier) {
    if (!names_.norm.empty()) norm_.emplace(parameters, names_.norm, config.layer_norm_eps);
  }

  Tensor selected(const BatchTensors& batch) const override {
    return config_.pools_mean ? Tensor() : batch.cu_seqlens.first(batch.num_sequences);
  }
  int64_t most_selected(const BatchLimits& limits) const override {
    return config_.pools_mean ? 0 : limits.sequences;
  }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    for (Tensor* tensor : {&dropped_, &pre_, &pooled_, &dpooled_}) {
      *tensor = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
    }
    if (norm_) {
      activated_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
      norm_->allocate(arena, limits.sequences);
    }
    for (Tensor* tensor : {&logits_, &dlogits_}) {
      *tensor = arena.make(DType::kF32, {limits.sequences, config_.num_outputs()});
    }
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const int64_t sequences = step.batch.num_sequences;
    const Tensor pooled = pooled_.first(sequences), logits = logits_.first(sequences);
    first_ = hidden;
    if (config_.pools_mean) {
      first_ = dropped_.first(sequences);
      kernels_.sequence_means(hidden, step.batch.cu_seqlens, first_);
    } else if (names_.drops_before_dense) {
      first_ = dropped_.first(sequences);
      kernels_.dropout(hidden, before(step), step.state, first_);
    }
    const Tensor activated = norm_ ? activated_.first(sequences) : pooled;
    dense_.activation_forward(kernels_, first_, names_.activation, pre_.first(sequences),
                              activated);
    if (norm_) {
      kernels_.layer_norm_forward(activated, norm_->parameters(), pooled,
                                  norm_->statistics(sequences));
    }
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
    if (norm_) {
      kernels_.layer_norm_backward(dpooled, norm_->normalized(activated_.first(sequences)),
                                   norm_->parameters(), dpooled, norm_->gradients());
    }
    // The classifier's input is no longer needed, so its memory takes the gradient of the mean.
    const Tensor dfirst = config_.pools_mean ? pooled_.first(sequences) : dhidden;
    dense_.activation_backward(kernels_, dpooled, {pre_.first(sequences), names_.activation},
                               first_, dfirst, Into::kOverwrite);
    if (config_.pools_mean) {
      kernels_.sequence_means_backward(dfirst, step.batch.cu_seqlens, dhidden);
    } else if (names_.drops_before_dense)
      kernels_.dropout(dhidden, before(step), step.state, dhidden);
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
  std::optional<LayerNorm> norm_;
  Tensor first_;                             // [B,H], the dense layer's input in the last forward
  Tensor dropped_, pre_, pooled_, dpooled_;  // [B,H]; dropped_ has the mean where that is pooled
  Tensor activated_;                         // [B,H], with a norm
  Tensor logits_, dlogits_;                  // [B,C]
};

}  // namespace

std::unique_ptr<Head> make_sequence_head(const ModelConfig& config, Parameters& parameters,
                                         Kernels& kernels) {
  return std::make_unique<SequenceHead>(config, parameters, kernels);
}

}  // namespace berth
