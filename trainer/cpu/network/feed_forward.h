#pragma once

#include <optional>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/low_rank_adapter.h"
#include "trainer/model/config.h"

namespace berth {

// The second half of an encoder layer (Vaswani et al. 2017, arXiv:1706.03762, section 3.3):
//   y = layer_norm(x + dropout(output(activation(intermediate(x)))))
class FeedForward {
 public:
  FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
              Parameters& parameters, Kernels& kernels);
  // Another layer with the parameters of `other`.
  FeedForward(const FeedForward& other, int64_t layer);

  void allocate(Arena& arena, int64_t most_rows);
  // x and y [R,H] are rows of the tokens `picked` [R]; null: of all tokens.
  void forward(const StepContext& step, Tensor x, Tensor picked, Tensor y,
               const LayerScratch& scratch);
  void recompute_output(Tensor y);  // y of the last forward pass, the same to the bit
  // x and picked are those of forward. d holds dy and becomes dx.
  void backward(const StepContext& step, Tensor x, Tensor picked, Tensor d,
                const LayerScratch& scratch);

 private:
  void activate(const StepContext& step, Tensor x, Tensor picked, Tensor pre, Tensor activated);
  Dropout output_dropout(const StepContext& step, Tensor picked) const;
  Dropout adapter_dropout(LayerPart part, Tensor picked) const;

  const ModelConfig& config_;
  int64_t layer_;
  Kernels& kernels_;
  Linear intermediate_, output_;
  std::optional<LowRankAdapter> intermediate_adapter_, output_adapter_;
  LayerNorm norm_;
  Tensor pre_;  // [R,F]
  Tensor sum_;  // [R,H]
};

}  // namespace berth
