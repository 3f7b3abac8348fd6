#pragma once

#include <optional>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/disentangled_attention.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/low_rank_adapter.h"
#include "trainer/cpu/network/picked_attention.h"
#include "trainer/model/config.h"

namespace berth {

// The first half of an encoder layer (Vaswani et al. 2017, arXiv:1706.03762):
//   y = layer_norm(x + dropout(output(self_attention(query(x), key(x), value(x)))))
class SelfAttention {
 public:
  // Attention is disentangled where `positions` is given. Borrows it.
  SelfAttention(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                RelativePositions* positions, Parameters& parameters, Kernels& kernels);
  // Another layer with the parameters of `other`.
  SelfAttention(const SelfAttention& other, int64_t layer);

  // For batches of at most `tokens` tokens that pick at most `most_picked` of them.
  void allocate(Arena& arena, int64_t tokens, int64_t most_picked);
  // x [T,H]. y [R,H] has the rows of the tokens `picked` [R], which increase; null: of all tokens.
  void forward(const StepContext& step, Tensor x, Tensor picked, Tensor y,
               const LayerScratch& scratch);
  void recompute_output(Tensor y);  // y of the last forward pass, the same to the bit
  // x and picked are those of forward. Overwrites dy. dx [T,H] is the same tensor as dy where all
  // tokens are picked.
  void backward(const StepContext& step, Tensor x, Tensor picked, Tensor dy, Tensor dx,
                const LayerScratch& scratch);

 private:
  void attend(const StepContext& step, Tensor x, Tensor attended, const LayerScratch& scratch);
  void attend_backward(const StepContext& step, Tensor x, Tensor attended, Tensor dattended,
                       Tensor dx, const LayerScratch& scratch);
  AttentionInputs inputs(const StepContext& step, Tensor qkv,
                         const RelativePositionInputs& relative) const;
  Dropout probability_dropout(const StepContext& step, Tensor picked = {}) const;
  Dropout output_dropout(const StepContext& step, Tensor picked) const;
  Dropout adapter_dropout(LayerPart part, Tensor tokens = {}) const;
  Tensor pick(Tensor x, Tensor picked, Tensor room);
  bool keeps_as_computed() const { return qkv_.dtype == DType::kF32; }

  const ModelConfig& config_;
  int64_t layer_;
  Kernels& kernels_;
  std::optional<Linear> qkv_linear_;  // where all tokens have queries; picked_ otherwise
  Linear output_linear_;
  struct Adapted {
    LayerPart part;
    LowRankAdapter adapter;
  };
  std::vector<Adapted> adapters_;  // of query, key and value
  std::optional<LowRankAdapter> output_adapter_;
  std::optional<DisentangledAttention> disentangled_;
  std::optional<PickedAttention> picked_;
  LayerNorm norm_;
  Tensor qkv_, attended_, log_sum_exp_;  // [T,3H], [T,H] or picked_'s [R,H], [T,A]
  Tensor sum_;                           // [R,H]
};

}  // namespace berth
