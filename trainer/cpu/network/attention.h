#pragma once

#include <optional>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_parts.h"
#include "trainer/cpu/network/positions.h"
#include "trainer/model/config.h"

namespace berth {

// Self-attention with the queries of some tokens only, and the keys and values of all. The last
// layer uses it where the head reads no other tokens.
class SelectedAttention {
 public:
  // Borrows `bias`; null: nothing is added to the scores.
  SelectedAttention(const ModelConfig& config, int64_t layer, PositionBias* bias, DType operands,
                    Parameters& parameters, Kernels& kernels);

  // For batches of at most `tokens` tokens, of which at most `most_selected` are selected.
  void allocate(Arena& arena, int64_t tokens, int64_t most_selected);
  // x [T,H]. selected_x [R,H] holds its rows `selected` [R], which increase. out [R,H].
  void forward(const StepContext& step, Dropout dropout, Tensor x, Tensor selected,
               ConstTensor selected_x, Tensor out);
  // x, selected and out are the arguments of forward. The gradient through the queries goes into
  // dselected_x [R,H]. Overwrites dx [T,H] with dselected_x at the selected rows, plus the gradient
  // through keys and values. Uses all of the scratch but second_hidden, where dout may lie.
  void backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x, Tensor selected,
                Tensor out, Tensor dselected_x, Into into, Tensor dx, const LayerScratch& scratch);

 private:
  AttentionInputs inputs(const StepContext& step, Tensor selected, const Dropout& dropout) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  PositionBias* bias_;
  Linear q_linear_, kv_linear_;
  DType operands_;               // see operand_dtype()
  Tensor q_, kv_, log_sum_exp_;  // [R,H], [T,2H], [R,A]
};

// The scores by relative position in DeBERTa's attention (He et al. 2020, arXiv:2006.03654), beside
// the scores by content: queries and keys of relative positions. The layer's own query and key
// weights, with their adapters, make them from the embeddings of positions.
class DisentangledAttention {
 public:
  // Borrows `positions`.
  DisentangledAttention(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                        RelativePositions& positions, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena);
  // Computes the queries and keys of positions, and returns them. Valid until the next forward().
  RelativePositionInputs forward(const StepContext& step);
  // The queries and keys of the last forward pass.
  RelativePositionInputs inputs() const;
  // Where attention is to put the gradient of the queries and keys, [P,2H]. backward() then passes
  // it on to the parameters and to the positions.
  Tensor dqk() const { return positions_.dqk(); }
  void backward(const StepContext& step);

 private:
  struct Adapted {
    Dropout dropout;
    LowRankAdapter adapter;
  };

  int64_t hidden_size_;
  uint32_t site_;
  RelativePositions& positions_;
  Kernels& kernels_;
  Linear qk_linear_;
  std::vector<Adapted> adapters_;  // of query and key
  Tensor qk_;                      // [P,2H]
};

// The first half of an encoder layer (Vaswani et al. 2017, arXiv:1706.03762):
//   y = layer_norm(residual + dropout(output(self_attention(query(x), key(x), value(x)))))
class SelfAttention {
 public:
  // Borrows what `positions` points to.
  SelfAttention(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                const SharedPositions& positions, Parameters& parameters, Kernels& kernels);
  // Another layer with the parameters of `other`.
  SelfAttention(const SelfAttention& other, int64_t layer);

  // For batches of at most `tokens` tokens, of which at most `most_selected` are selected.
  void allocate(Arena& arena, int64_t tokens, int64_t most_selected);
  // x and residual [T,H]; see ResidualSum for the residual. y [R,H] has the rows of the tokens
  // `selected` [R], which increase; null: of all tokens. x and y are operands.
  void forward(const StepContext& step, Tensor x, const Residual& residual, Tensor selected,
               Tensor y, const LayerScratch& scratch);
  Tensor sum(int64_t rows) const { return sum_.first(rows); }  // of the last forward pass, [R,H]
  // y of the last forward pass as a residual, and its values, the same to the bit.
  Residual output(int64_t rows) const { return norm_.residual(sum_.first(rows)); }
  void recompute_output(Tensor y);
  // The gradient of the selected rows, and memory for the gradient of all tokens. Both are one
  // tensor if all tokens are selected.
  struct SpreadGradient {
    Tensor selected, all;  // [R,H], [T,H]
  };
  // x and selected are the arguments of forward. d.selected holds dy and is overwritten, and d.all
  // becomes dx. See ResidualSum for dresidual; dresidual.all becomes the gradient of the residual.
  void backward(const StepContext& step, Tensor x, Tensor selected, const SpreadGradient& d,
                const SpreadGradient& dresidual, const LayerScratch& scratch);

 private:
  void attend(const StepContext& step, Tensor x, Tensor attended, const LayerScratch& scratch);
  void attend_backward(const StepContext& step, Tensor x, Tensor attended, Tensor dattended,
                       Tensor dx, Into into, const LayerScratch& scratch);
  AttentionInputs inputs(const StepContext& step, const RelativePositionInputs& relative) const;
  Dropout probability_dropout(const StepContext& step, Tensor selected = {}) const;
  Dropout output_dropout(const StepContext& step, Tensor selected) const;
  Dropout adapter_dropout(LayerPart part, Tensor tokens = {}) const;
  // The rows `selected` of x, copied to `room`; x itself where `selected` is null.
  Tensor select(Tensor x, Tensor selected, Tensor room);
  // Likewise. The selected rows are fp32 and not normalized any more.
  Residual select(const Residual& residual, Tensor selected, const LayerScratch& scratch);
  // Whether the product writes queries, keys and values as they are kept. Adapters and rotary
  // positions change them in fp32 before.
  bool keeps_as_computed() const {
    return qkv_.dtype == DType::kF32 || (adapters_.empty() && !rotary_);
  }

  const ModelConfig& config_;
  int64_t layer_;
  Kernels& kernels_;
  DType operands_;                    // see operand_dtype()
  std::optional<Linear> qkv_linear_;  // where all tokens have queries; selected_ otherwise
  Linear output_linear_;
  struct Adapted {
    LayerPart part;
    LowRankAdapter adapter;
  };
  std::vector<Adapted> adapters_;  // of query, key and value
  std::optional<LowRankAdapter> output_adapter_;
  std::optional<DisentangledAttention> disentangled_;
  RotaryPositions* rotary_;  // null: there are none
  PositionBias* bias_;       // likewise
  std::optional<SelectedAttention> selected_;
  LayerNorm norm_;
  Tensor qkv_, attended_, log_sum_exp_;  // [T,3H], [T,H] or selected_'s [R,H], [T,A]
  Tensor sum_;                           // [R,H]
};

}  // namespace berth
