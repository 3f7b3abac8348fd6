#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/pooler.h"

namespace berth {
namespace {

class GroupHead final : public Head {
 public:
  GroupHead(const ModelConfig& config, Kernels& kernels)
      : config_(config), kernels_(kernels), pooler_(config, kernels) {}

  Tensor selected(const BatchTensors& batch) const override { return pooler_.selected(batch); }
  int64_t most_selected(const BatchLimits& limits) const override {
    return pooler_.most_selected(limits);
  }

  void allocate(Arena& arena, const BatchLimits& limits) override {
    pooler_.allocate(arena, limits);
    dembeddings_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
    const int64_t examples = limits.sequences / config_.texts_per_row;
    outputs_ = arena.make(DType::kF32, {examples, config_.num_outputs()});
    if (!ranks()) return;
    scores_ = arena.make(DType::kF32, {examples * (config_.texts_per_row - 1) * examples});
  }

  Tensor forward(const StepContext& step, Tensor hidden) override {
    const BatchTensors& batch = step.batch;
    const GroupInputs inputs{.embeddings = pooler_.forward(step, hidden),
                             .group = batch.sequences_per_example,
                             .has_loss = batch.labelled(),
                             .targets = batch.targets,
                             .weights = batch.weights};
    const int64_t examples = inputs.examples();
    const Tensor outputs = outputs_.first(examples);
    const Tensor dembeddings = step.training ? dembeddings_.first(batch.num_sequences) : Tensor();
    if (ranks()) {
      const int64_t others = (inputs.group - 1) * examples;
      Tensor scores = scores_.first(examples * others);
      scores.rank = 2;
      scores.shape = {examples, others, 0};
      kernels_.in_batch_negatives(inputs, step.state, scores, outputs, dembeddings);
    } else {
      kernels_.cosine_squared_error(inputs, step.state, outputs, dembeddings);
    }
    return outputs;
  }

  void backward(const StepContext& step, Tensor dhidden) override {
    pooler_.backward(step, dembeddings_.first(step.batch.num_sequences), dhidden);
  }

 private:
  bool ranks() const { return traits(config_.task).loss == LossKind::kInBatchNegatives; }

  const ModelConfig& config_;
  Kernels& kernels_;
  Pooler pooler_;
  Tensor dembeddings_;  // [B*G,H]
  Tensor outputs_;      // [B,C]
  Tensor scores_;       // [B*(G-1)*B]; null where the loss compares no texts of different rows
};

}  // namespace

std::unique_ptr<Head> make_group_head(const ModelConfig& config, Kernels& kernels) {
  return std::make_unique<GroupHead>(config, kernels);
}

}  // namespace berth
