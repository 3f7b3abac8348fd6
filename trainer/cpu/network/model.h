#pragma once

#include <memory>
#include <vector>

#include "trainer/cpu/network/encoder.h"
#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/network.h"
#include "trainer/model/loss_options.h"

namespace berth {

// An encoder with the head of the config's task, over packed batches. Activations are one block of
// memory, whose size is known when the model is built. Gradients that Parameters keep as products
// lie in the same block and are valid until the next forward. Borrows config, parameters and
// kernels. Not thread-safe.
class Model final : public Network {
 public:
  // `lora` is what the parameter table was made with. Throws kMemory where the activations of a
  // batch of `limits` do not fit.
  Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
        Kernels& kernels, LossOptions loss = {}, const LoraOptions& lora = {});
  // The activation_bytes() of such a model, without its memory. `planned` is a plan of the
  // parameters, and has the handles of all layers afterwards.
  static size_t planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                              Parameters& planned, Kernels& kernels, const LoraOptions& lora = {});

  // The layers without activations, for an owner of several models that share memory. Forward may
  // be called after allocate() was called with an arena that has memory.
  Model(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
        const LoraOptions& lora);
  void allocate(Arena& arena, const BatchLimits& limits);

  void forward(const PackedBatch& batch, StepState& state, Phase phase) override;
  using Network::backward;
  void backward(StepState& state, const GradientsFinal& are_final) override;
  void refresh() override;

  // The logits of the last forward, row-major: [B,C] or [T,C]. Question answering has [T,2]: start,
  // end. Masked tokens have [M,2]: the loss, and the id that is predicted. Hidden states have
  // [T,H].
  std::vector<float> logits() const override;
  // The ids that a generator drew for the masked tokens of the last forward [M]; -1 for a token
  // without a label.
  std::vector<int32_t> samples() const;

  size_t activation_bytes() const { return activations_.size_bytes(); }

 private:
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
  Tensor targets_, teacher_, ends_, weights_;
  Tensor dhidden_;  // [R,H]
  BatchTensors batch_;
  Tensor logits_;
};

}  // namespace berth
