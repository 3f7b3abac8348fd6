#pragma once

#include <optional>

#include "trainer/model/config.h"
#include "trainer/model/context.h"
#include "trainer/model/linear.h"
#include "trainer/model/low_rank_adapter.h"
#include "trainer/model/relative_positions.h"

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
  RelativeRows relative() const;

  const ModelConfig& config_;
  uint32_t site_;
  Dropout adapter_dropout_;
  RelativePositions& positions_;
  Kernels& kernels_;
  Linear qk_linear_;
  std::optional<LowRankAdapter> query_adapter_;
  Tensor position_qk_;  // [P,2H]
};

}  // namespace berth
