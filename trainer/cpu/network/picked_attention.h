#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/model/config.h"

namespace berth {

// Self-attention whose queries are those of some tokens alone: of the last layer, where the head
// reads no others. Keys and values are those of all.
class PickedAttention {
 public:
  PickedAttention(const ModelConfig& config, int64_t layer, Parameters& parameters,
                  Kernels& kernels);

  // For batches of so many tokens, of which so many at most are picked.
  void allocate(Arena& arena, int64_t tokens, int64_t most_picked);
  // x [T,H], picked_x [R,H] its rows `picked` [R], increasing; out [R,H].
  void forward(const StepContext& step, Dropout dropout, Tensor x, Tensor picked, Tensor picked_x,
               Tensor out, const LayerScratch& scratch);
  // x, picked and out as in forward. Adds the queries' gradient to dpicked_x [R,H]; overwrites dx
  // [T,H] with that, spread, and the keys' and values'. dout may lie in scratch.second_hidden: the
  // scratch's other buffers are used.
  void backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor x, Tensor picked,
                Tensor out, Tensor dpicked_x, Tensor dx, const LayerScratch& scratch);

 private:
  bool keeps_as_computed() const { return kv_.dtype == DType::kF32; }
  AttentionInputs inputs(const StepContext& step, Tensor kv, Tensor picked,
                         const Dropout& dropout) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear q_linear_, kv_linear_;
  Tensor q_, kv_, log_sum_exp_;  // [R,H], [T,2H], [R,A]
};

}  // namespace berth
