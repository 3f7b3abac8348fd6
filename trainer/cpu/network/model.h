#pragma once

#include <memory>
#include <span>
#include <vector>

#include "trainer/cpu/network/encoder.h"
#include "trainer/cpu/network/group_loss.h"
#include "trainer/cpu/network/heads.h"
#include "trainer/cpu/network/network.h"
#include "trainer/model/update.h"

namespace berth {

// An encoder with the head of the config's task, over packed batches. Activations are one block of
// memory, whose size is known when the model is built. Gradients that Parameters keep as products
// lie in the same block and are valid until the next forward. Borrows config, parameters and
// kernels. Not thread-safe.
class Model final : public Network {
 public:
  // `lora` is what the parameter table was made with, and `workers` are as for make_network().
  // Throws kMemory where the activations of a batch of `limits` do not fit.
  Model(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
        Kernels& kernels, LossOptions loss = {}, const LoraOptions& lora = {},
        Communicator* workers = nullptr);
  // The activation_bytes() of such a model, without its memory. `planned` is a plan of the
  // parameters, and has the handles of all layers afterwards.
  static size_t planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                              Parameters& planned, Kernels& kernels, const LoraOptions& lora = {});

  // The layers without activations, for an owner of several models that share memory. Forward may
  // be called after allocate() was called with an arena that has memory.
  Model(const ModelConfig& config, Parameters& parameters, Kernels& kernels, LossOptions loss,
        const LoraOptions& lora, Communicator* workers = nullptr);
  void allocate(Arena& arena, const BatchLimits& limits);

  // Where masked tokens and sequences have a loss each: the weights of the masked tokens, and the
  // number of sequences. Else empty.
  std::vector<double> loss_weights(std::span<const PackedBatch> micro_batches) const override;
  // Finds the factor between the two sums of the update's losses, whose means are added.
  void begin_update(std::span<const double> weights) override;
  void forward(const PackedBatch& batch, StepState& state, Phase phase) override;
  using Network::backward;
  void backward(StepState& state, const GradientsFinal& are_final) override;
  // The same after a forward in kTraining of texts without labels, where the task compares texts.
  // `dembeddings` [B,H] is the gradient of the embeddings that it returned.
  void backward(StepState& state, Tensor dembeddings, const GradientsFinal& are_final);

  // The outputs of the last forward, which are valid until the next one.
  Tensor outputs_in_place() const { return outputs_; }
  std::vector<float> outputs() const override;
  // The ids that a generator drew for the masked tokens of the last forward [M]; -1 for a token
  // without a label.
  std::vector<int32_t> samples() const;

  size_t activation_bytes() const { return activations_.size_bytes(); }

 private:
  void upload(const PackedBatch& batch);
  void upload_labels(const PackedBatch& batch);
  void upload_masked(const PackedBatch::MaskedTokens& masked, std::span<const int32_t> cu_seqlens);
  StepContext context(StepState& state, bool training) const;
  void backward(const StepContext& step, const GradientsFinal& are_final);

  const ModelConfig& config_;
  const LossOptions loss_;
  Encoder encoder_;
  const std::unique_ptr<Head> head_;
  Memory activations_;
  Tensor input_ids_, token_type_ids_, position_ids_, cu_seqlens_, labels_, masked_;
  Tensor targets_, teacher_, ends_, weights_;
  Tensor next_sentences_, first_and_masked_, masked_then_first_;  // null without next sentences
  float second_weight_ = 1;  // of a sequence's loss in this update
  Tensor dhidden_;           // [R,H]
  TextTargets text_targets_;
  BatchTensors batch_;
  Tensor outputs_;
};

// Pre-training by replaced-token detection (Clark et al. 2020, arXiv:2003.10555). The generator, a
// masked language model, predicts the masked tokens of a batch, and one id is drawn for each from
// its softmax. The discriminator reads the batch with these ids in place of the masked tokens. It
// predicts for every token, special ones included, whether it was replaced. A drawn id that equals
// the original one counts as original. The loss is the generator's mean over masked tokens plus
// LossOptions::discriminator_weight times the discriminator's mean over tokens. No gradient flows
// from the discriminator through the drawn ids, so the generator is done with a batch before the
// discriminator begins: its backward pass is a part of forward(), and both use the same memory.
//
// Batches are the same as for masked language models. A token has the weight of its sequence's
// masked tokens, or 1 if there are none.
class ReplacedTokenModel final : public Network {
 public:
  // `config` is the discriminator's, with a generator.
  ReplacedTokenModel(const ModelConfig& config, const BatchLimits& limits, Parameters& parameters,
                     Kernels& kernels, LossOptions loss = {});
  static size_t planned_bytes(const ModelConfig& config, const BatchLimits& limits,
                              Parameters& planned, Kernels& kernels);

  // The weights of the masked tokens, and the weights of all tokens.
  std::vector<double> loss_weights(std::span<const PackedBatch> micro_batches) const override;
  // Finds the factor between the two sums of the update's losses, whose means are added.
  void begin_update(std::span<const double> weights) override;
  // The generator and the discriminator draw different dropout masks. In evaluation, the drawn ids
  // depend on the batch's first_token and on nothing else that may change.
  void forward(const PackedBatch& batch, StepState& state, Phase phase) override;
  using Network::backward;
  void backward(StepState& state, const GradientsFinal& are_final) override;
  // [T,4]: the discriminator's logit, which is positive if it predicts that the token was replaced;
  // and 1 if the token was replaced, else 0. The last two columns are the generator's loss and its
  // most likely id for a masked token, and 0 and -1 for other tokens.
  std::vector<float> outputs() const override;

  // The discriminator's input in the last forward pass: the ids, and which of them were replaced.
  const PackedBatch& replaced() const { return replaced_; }

 private:
  ReplacedTokenModel(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
                     LossOptions loss);
  void allocate(Arena& arena, const BatchLimits& limits);

  const ModelConfig& config_;
  const ModelConfig generator_config_;
  const double weight_;  // of the discriminator's loss
  Model generator_, discriminator_;
  Memory activations_;
  double token_scale_ = 0;  // by which the discriminator's sum is multiplied in this update
  PackedBatch replaced_;
  PackedBatch::MaskedTokens masked_;  // of the last forward
  std::vector<float> predictions_;    // [M,2]
};

}  // namespace berth
