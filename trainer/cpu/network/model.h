#pragma once

#include <memory>
#include <vector>

#include "trainer/cpu/network/encoder.h"
#include "trainer/cpu/network/heads.h"
#include "trainer/model/loss_options.h"

namespace berth {

// Whether forward drops and keeps what backward needs.
enum class Phase { kTraining, kEvaluation };

// An encoder with the head of the config's task over packed batches. Its activations are one
// block, sized when built, and have the gradients in them that Parameters keep of products: these
// are there until the next forward. Borrows config, parameters and kernels. Not thread-safe.
class Model {
 public:
  // Parameters with adapters want their options. Throws kMemory when the activations of `limits` do
  // not fit.
  Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
        Kernels& kernels, LossOptions loss = {}, const LoraOptions& lora = {});
  // activation_bytes() of such a model, without making it. `planned` is a plan, which is then used
  // up.
  static size_t planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                              Parameters& planned, Kernels& kernels, const LoraOptions& lora = {});

  // Adds a labelled batch's loss to the state. `batch` lies inside the limits, its labels are of
  // the config's task. Throws kBadData on an id that the embeddings have not.
  void forward(const PackedBatch& batch, StepState& state, Phase phase);
  // Adds the gradients of the batch that forward last saw, in training and labelled.
  void backward(StepState& state);
  // After the optimizer changed the parameters.
  void refresh();

  // Logits of the last forward, row-major: [B,C], [T,C] ([T,2] of question answering:
  // start, end) or [M,V].
  std::vector<float> logits() const;

  size_t activation_bytes() const { return activations_.size_bytes(); }

 private:
  // Without activations.
  Model(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
        const LoraOptions& lora);

  void allocate(Arena& arena, const BatchLimits& limits);
  void upload(const PackedBatch& batch);
  void upload_labels(const PackedBatch& batch);
  StepContext context(StepState& state, bool training) const;

  const ModelConfig& config_;
  const LossOptions loss_;
  Parameters& parameters_;
  Kernels& kernels_;
  Encoder encoder_;
  const std::unique_ptr<Head> head_;
  Memory activations_;
  Tensor input_ids_, token_type_ids_, position_ids_, cu_seqlens_, labels_, masked_;
  Tensor targets_, ends_, weights_;
  Tensor dhidden_;  // [R,H]
  BatchTensors batch_;
  Tensor logits_;
};

}  // namespace berth
