#pragma once

#include "trainer/model/config.h"
#include "trainer/model/context.h"
#include "trainer/model/linear.h"

namespace berth {

// BERT's pooler and classifier over the first token of each sequence:
//   logits = classifier(dropout(tanh(pooler(hidden[first]))))
class SequenceClassificationHead {
 public:
  SequenceClassificationHead(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  // hidden [T,H]. Returns logits [B,C], valid until the next forward. A labelled batch adds its
  // loss to the state.
  Tensor forward(const StepContext& step, Tensor hidden);
  // After a labelled forward in training. Overwrites dhidden [T,H].
  void backward(const StepContext& step, Tensor dhidden);
  void refresh();  // after the parameters changed

 private:
  Dropout dropout(const StepContext& step) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear pooler_, classifier_;
  Tensor first_, pooled_pre_, pooled_;  // [B,H]
  Tensor dfirst_, dpooled_;             // [B,H]
  Tensor logits_, dlogits_;             // [B,C]
};

}  // namespace berth
