#include <algorithm>
#include <array>

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

namespace {

constexpr int64_t kChunk = 1024;
using Chunk = std::array<float, kChunk>;

// `count` elements of x from `at` on in fp32: those themselves, or copies in `room`.
const float* widened(const CpuLoops& loops, ConstTensor x, int64_t at, int64_t count, Chunk& room) {
  if (x.dtype == DType::kF32) return x.f32() + at;
  loops.from_bf16(x.bf16() + at, room.data(), count);
  return room.data();
}

}  // namespace

void Kernels::gated_activation_forward(ConstTensor x, Activation activation, Tensor y,
                                       Tensor kept) {
  const ProfileScope scope(pool_.profiler(), "gated_activation_forward", bytes_of({x, y, kept}));
  const int64_t width = y.columns();
  assert(x.columns() == 2 * width && x.rows() == y.rows());
  parallel(y.rows(), row_grain(2 * width), [&](int64_t begin, int64_t end, int) {
    Chunk room;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * 2 * width;
      if (kept) keep_row(x.f32() + at, kept, at, 2 * width);
      const ConstTensor source = kept ? ConstTensor(kept) : x;
      float* const to = y.f32() + row * width;
      activate_row(source, activation, at, width, to);
      for (int64_t c = 0; c < width; c += kChunk) {
        const int64_t count = std::min(kChunk, width - c);
        const float* const gate = widened(loops_, source, at + width + c, count, room);
        for (int64_t i = 0; i < count; ++i) to[c + i] *= gate[i];
      }
    }
  });
}

void Kernels::gated_activation_backward(ConstTensor x, Activation activation, ConstTensor dy,
                                        Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "gated_activation_backward", bytes_of({x, dy, dx}));
  const int64_t width = dy.columns();
  assert(x.columns() == 2 * width && dx.columns() == 2 * width);
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  const auto apply_backward = loops_.activation_backward[static_cast<size_t>(activation)];
  parallel(dy.rows(), row_grain(2 * width), [&](int64_t begin, int64_t end, int) {
    Chunk input_room, gate_room, activated;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < width; c += kChunk) {
        const int64_t count = std::min(kChunk, width - c), at = row * 2 * width + c;
        const float* const input = widened(loops_, x, at, count, input_room);
        const float* const gate = widened(loops_, x, at + width, count, gate_room);
        const float* const d = dy.f32() + row * width + c;
        float* const dinput = dx.f32() + at;
        float* const dgate = dinput + width;
        // y = act(a) b:  db = dy act(a);  da = dy b act'(a), whose last factor apply_backward
        // multiplies.
        apply(input, activated.data(), count);
        for (int64_t i = 0; i < count; ++i) {
          dgate[i] = d[i] * activated[static_cast<size_t>(i)];
          dinput[i] = d[i] * gate[i];
        }
        apply_backward(input, dinput, count);
      }
    }
  });
}

}  // namespace berth
