#pragma once

#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/low_rank_adapter.h"
#include "trainer/cpu/network/relative_positions.h"
#include "trainer/model/config.h"

namespace berth {

// DeBERTa's attention (He et al. 2020, arXiv:2006.03654): scores of contents with contents, and of
// either with how far apart they stand. The layer's query and key weights, adapted or not, serve
// positions, too.
class DisentangledAttention {
 public:
  // Borrows `positions`.
  DisentangledAttention(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
                        RelativePositions& positions, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena);
  // As Kernels::attention_forward and attention_backward.
  void forward(const StepContext& step, Dropout dropout, Tensor qkv, Tensor out,
               Tensor log_sum_exp);
  void backward(const StepContext& step, Dropout dropout, Tensor dout, Tensor qkv, Tensor out,
                Tensor log_sum_exp, Tensor dqkv);
  void refresh();  // after the parameters changed

 private:
  struct Adapted {
    Dropout dropout;
    LowRankAdapter adapter;
  };
  RelativeRows relative() const;

  const ModelConfig& config_;
  uint32_t site_;
  RelativePositions& positions_;
  Kernels& kernels_;
  Linear qk_linear_;
  std::vector<Adapted> adapters_;  // of query and key
  Tensor position_qk_;             // [P,2H]
};

}  // namespace berth
