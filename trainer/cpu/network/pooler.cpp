#include "trainer/cpu/network/pooler.h"

namespace berth {

Tensor Pooler::selected(const BatchTensors& batch) const {
  return reads_first_tokens() ? batch.cu_seqlens.first(batch.num_sequences) : Tensor();
}

int64_t Pooler::most_selected(const BatchLimits& limits) const {
  return reads_first_tokens() ? limits.sequences : 0;
}

void Pooler::allocate(Arena& arena, const BatchLimits& limits) {
  if (reads_first_tokens()) return;
  pooled_ = arena.make(DType::kF32, {limits.sequences, config_.hidden_size});
  if (config_.pooling == Pooling::kMax) {
    places_ = arena.make(DType::kI32, {limits.sequences, config_.hidden_size});
  }
}

Tensor Pooler::forward(const StepContext& step, Tensor hidden) {
  const int64_t sequences = step.batch.num_sequences;
  if (reads_first_tokens()) return hidden.first(sequences);
  const Tensor pooled = pooled_.first(sequences);
  if (places_) {
    kernels_.sequence_maxima(hidden, step.batch.cu_seqlens, pooled, places_.first(sequences));
  } else {
    kernels_.sequence_means(hidden, step.batch.cu_seqlens, pooled);
  }
  return pooled;
}

void Pooler::backward(const StepContext& step, Tensor dpooled, Tensor dhidden) {
  if (reads_first_tokens()) {
    kernels_.convert(dpooled, dhidden);
  } else if (places_) {
    kernels_.sequence_maxima_backward(dpooled, places_.first(step.batch.num_sequences), dhidden);
  } else {
    kernels_.sequence_means_backward(dpooled, step.batch.cu_seqlens, dhidden);
  }
}

}  // namespace berth
