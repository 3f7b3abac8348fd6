#pragma once

#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/low_rank_adapter.h"
#include "trainer/cpu/network/relative_positions.h"
#include "trainer/model/config.h"

namespace berth {

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

}  // namespace berth
