#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::keep_row(const float* sums, Tensor kept, int64_t at, int64_t count) const {
  if (kept.dtype == DType::kBF16) {
    loops_.to_bf16(sums, kept.bf16() + at, count);
  } else if (sums != kept.f32() + at) {
    loops_.copy(sums, kept.f32() + at, count);
  }
}

void Kernels::activate_row(ConstTensor x, Activation activation, int64_t at, int64_t count,
                           float* y) const {
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  if (x.dtype == DType::kBF16) {
    loops_.from_bf16(x.bf16() + at, y, count);
    apply(y, y, count);
  } else {
    apply(x.f32() + at, y, count);
  }
}

void Kernels::activation_forward(ConstTensor x, Activation activation, Tensor y, Tensor kept) {
  const ProfileScope scope(pool_.profiler(), "activation_forward", bytes_of({x, y, kept}));
  const int64_t columns = y.columns();
  parallel(y.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin * columns; at < end * columns; at += columns) {
      if (kept) keep_row(x.f32() + at, kept, at, columns);
      activate_row(kept ? kept : x, activation, at, columns, y.f32() + at);
    }
  });
}

void Kernels::activation_backward(ConstTensor x, Activation activation, Tensor dy) {
  const ProfileScope scope(pool_.profiler(), "activation_backward", bytes_of({x, dy, dy}));
  constexpr int64_t kChunk = 1024;
  const auto apply = loops_.activation_backward[static_cast<size_t>(activation)];
  const int64_t columns = dy.columns();
  parallel(dy.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin * columns; at < end * columns; at += kChunk) {
      const int64_t count = std::min(kChunk, end * columns - at);
      if (x.dtype == DType::kF32) {
        apply(x.f32() + at, dy.f32() + at, count);
      } else {
        float chunk[kChunk];
        loops_.from_bf16(x.bf16() + at, chunk, count);
        apply(chunk, dy.f32() + at, count);
      }
    }
  });
}

}  // namespace berth
