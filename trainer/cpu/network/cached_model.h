#pragma once

#include <vector>

#include "trainer/cpu/network/group_loss.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/network/network.h"

namespace berth {

// A model that compares texts, and that computes a batch in parts: gradient caching (Gao et al.
// 2021, arXiv:2101.06983). Forward embeds one part after the other, and keeps only the embeddings.
// Then it computes the loss of the whole batch, and the gradient of the embeddings. Backward runs
// each part forward again, except the last one. Then it back-propagates the part's rows of that
// gradient. Dropout draws the same masks both times, because a part knows its place in the update.
// So loss and gradients equal a Model's, except for rounding, and only one part has activations.
//
// Gradients are summed over the parts, so no parameter may have a gradient of the form "factored"
// (docs/internals/update.md#gradients). Borrows config, parameters and kernels. Not thread-safe.
class CachedModel final : public Network {
 public:
  // `limits.part_sequences` must be above 0. Throws kMemory where the memory does not suffice.
  CachedModel(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
              Kernels& kernels, LossOptions loss = {}, const LoraOptions& lora = {},
              Communicator* workers = nullptr);
  // The bytes that the constructor would allocate. Allocates nothing.
  static size_t planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                              Parameters& planned, Kernels& kernels, const LoraOptions& lora = {});

  void forward(const PackedBatch& batch, StepState& state, Phase phase) override;
  using Network::backward;
  void backward(StepState& state, const GradientsFinal& are_final) override;
  std::vector<float> outputs() const override;

 private:
  CachedModel(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
              const LoraOptions& lora, Communicator* workers);
  void allocate(Arena& arena, const BatchLimits& limits);
  BatchTensors upload_labels(const PackedBatch& batch) const;

  const ModelConfig& config_;
  Model model_;
  GroupLoss loss_;
  Memory activations_;
  BatchLimits part_limits_;
  // B examples of G sequences each; H numbers in an embedding.
  Tensor embeddings_, dembeddings_;    // [B*G,H]
  Tensor labels_, targets_, weights_;  // of the B examples
  TextTargets text_targets_;
  Tensor outputs_;
  // The parts of the most recent forward. In a part, each sequence is an example without a label.
  std::vector<PackedBatch> parts_;
};

}  // namespace berth
