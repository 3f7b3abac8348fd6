#pragma once

#include <optional>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/cpu/network/linear.h"
#include "trainer/cpu/network/low_rank_adapter.h"
#include "trainer/model/config.h"

namespace berth {

// The second half of an encoder layer (Vaswani et al. 2017, arXiv:1706.03762, section 3.3):
//   y = layer_norm(residual + dropout(output(activation(intermediate(x)))))
// A gated layer has dropout(activation(a) * b) in place of the activation (Shazeer 2020,
// arXiv:2002.05202). a and b are the two halves of intermediate's output, or a is the output of a
// second dense layer, the gate. One product computes both.
class FeedForward {
 public:
  FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
              Parameters& parameters, Kernels& kernels);
  // Another layer with the parameters of `other`.
  FeedForward(const FeedForward& other, int64_t layer);

  // `sum_room` is the memory for the sums; null: among the layer's own activations.
  void allocate(Arena& arena, int64_t most_rows, const Tensor* sum_room);
  // x, residual and y [R,H] are rows of the tokens `selected` [R]; null: of all tokens. See
  // ResidualSum for the residual.
  void forward(const StepContext& step, Tensor x, Tensor residual, Tensor selected, Tensor y,
               const LayerScratch& scratch);
  Tensor sum(int64_t rows) const { return sum_.first(rows); }  // of the last forward pass
  void recompute_output(Tensor y);  // y of the last forward pass, the same to the bit
  // x and selected are the arguments of forward. d holds dy and becomes dx. See ResidualSum for
  // dresidual [R,H].
  void backward(const StepContext& step, Tensor x, Tensor selected, Tensor d, Tensor dresidual,
                const LayerScratch& scratch);

 private:
  void activate(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                const LayerScratch& scratch);
  void activate_gated(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                      const LayerScratch& scratch);
  int64_t inner_size() const { return (config_.is_gated ? 2 : 1) * config_.intermediate_size; }
  Dropout inner_dropout(const StepContext& step, Tensor selected) const;
  Dropout output_dropout(const StepContext& step, Tensor selected) const;
  Dropout adapter_dropout(LayerPart part, Tensor selected) const;

  const ModelConfig& config_;
  int64_t layer_;
  Kernels& kernels_;
  Linear intermediate_, output_;  // the first includes the gate
  std::optional<LowRankAdapter> intermediate_adapter_, gate_adapter_, output_adapter_;
  LayerNorm norm_;
  Tensor pre_;  // [R,F], or [R,2F] of a gated one
  Tensor sum_;  // [R,H]
};

}  // namespace berth
