#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/position_bias.h"
#include "trainer/model/config.h"

namespace berth {

// Self-attention with the queries of some tokens only, and the keys and values of all. The last
// layer uses it where the head reads no other tokens.
class SelectedAttention {
 public:
  // Borrows `bias`; null: nothing is added to the scores.
  SelectedAttention(const ModelConfig& config, int64_t layer, PositionBias* bias,
                    Parameters& parameters, Kernels& kernels);

  // For batches of at most `tokens` tokens, of which at most `most_selected` are selected.
  void allocate(Arena& arena, int64_t tokens, int64_t most_selected);
  // x [T,H]. selected_x [R,H] holds its rows `selected` [R], which increase. out [R,H].
  void forward(const StepContext& step, Dropout dropout, Tensor x, Tensor selected,
               Tensor selected_x, Tensor out, const LayerScratch& scratch);
  // x, selected and out are the arguments of forward. Adds the gradient through the queries to
  // dselected_x [R,H]. Overwrites dx [T,H] with dselected_x at the selected rows, plus the gradient
  // through keys and values. Uses all of the scratch but second_hidden, where dout may lie.
  void backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x, Tensor selected,
                Tensor out, Tensor dselected_x, Tensor dx, const LayerScratch& scratch);

 private:
  bool keeps_as_computed() const { return kv_.dtype == DType::kF32; }
  AttentionInputs inputs(const StepContext& step, Tensor kv, Tensor selected,
                         const Dropout& dropout) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  PositionBias* bias_;
  Linear q_linear_, kv_linear_;
  Tensor q_, kv_, log_sum_exp_;  // [R,H], [T,2H], [R,A]
};

}  // namespace berth
