#pragma once

#include "trainer/cpu/network/context.h"
#include "trainer/model/config.h"

namespace berth {

// Turns the last hidden states of each sequence into one vector, by the config's pooling. It has no
// parameters. Borrows the config and the kernels.
class Pooler {
 public:
  Pooler(const ModelConfig& config, Kernels& kernels) : config_(config), kernels_(kernels) {}

  // The tokens whose states it reads, and how many these are at most, as Head says.
  Tensor selected(const BatchTensors& batch) const;
  int64_t most_selected(const BatchLimits& limits) const;

  void allocate(Arena& arena, const BatchLimits& limits);
  // hidden [R,H] are the states of the selected tokens. Returns the embeddings [B,H], which may be
  // the same memory and are valid until the next forward.
  Tensor forward(const StepContext& step, Tensor hidden);
  // Overwrites dhidden [R,H]. dpooled [B,H].
  void backward(const StepContext& step, Tensor dpooled, Tensor dhidden);

 private:
  bool reads_first_tokens() const { return config_.pooling == Pooling::kCls; }

  const ModelConfig& config_;
  Kernels& kernels_;
  Tensor pooled_;  // [B,H]; null where the first tokens' states are the embeddings
  Tensor places_;  // int32 [B,H], the rows that maxima come from; null where there are none
};

}  // namespace berth
