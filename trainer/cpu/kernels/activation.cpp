#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

void Kernels::keep_row(const float* sums, Tensor pre, int64_t at, int64_t count) const {
  if (pre.dtype == DType::kBF16) {
    loops_.to_bf16(sums, pre.bf16() + at, count);
  } else if (sums != pre.f32() + at) {
    loops_.copy(sums, pre.f32() + at, count);
  }
}

void Kernels::activate_row(Tensor pre, Activation activation, int64_t at, int64_t count,
                           float* y) const {
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  if (pre.dtype == DType::kBF16) {
    loops_.from_bf16(pre.bf16() + at, y, count);
    apply(y, y, count);
  } else {
    apply(pre.f32() + at, y, count);
  }
}

void Kernels::activation_forward(Tensor y, Activation activation, Tensor pre) {
  const int64_t columns = y.columns();
  parallel(y.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin * columns; at < end * columns; at += columns) {
      keep_row(y.f32() + at, pre, at, columns);
      activate_row(pre, activation, at, columns, y.f32() + at);
    }
  });
}

void Kernels::activation_again(Tensor pre, Activation activation, Tensor y) {
  const int64_t columns = y.columns();
  parallel(y.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin * columns; at < end * columns; at += columns) {
      activate_row(pre, activation, at, columns, y.f32() + at);
    }
  });
}

void Kernels::activation_backward(Tensor pre, Activation activation, Tensor dy) {
  constexpr int64_t kChunk = 1024;
  const auto apply = loops_.activation_backward[static_cast<size_t>(activation)];
  const int64_t columns = dy.columns();
  parallel(dy.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t at = begin * columns; at < end * columns; at += kChunk) {
      const int64_t count = std::min(kChunk, end * columns - at);
      if (pre.dtype == DType::kF32) {
        apply(pre.f32() + at, dy.f32() + at, count);
      } else {
        float chunk[kChunk];
        loops_.from_bf16(pre.bf16() + at, chunk, count);
        apply(chunk, dy.f32() + at, count);
      }
    }
  });
}

}  // namespace berth
