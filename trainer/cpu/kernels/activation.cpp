#include <algorithm>

#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::keep_row(const float* sums, Tensor kept, int64_t at, int64_t count) const {
  if (kept.dtype == DType::kBF16) {
    loops_.to_bf16(sums, kept.bf16() + at, count);
  } else if (sums != kept.f32() + at) {
    loops_.copy(sums, kept.f32() + at, count);
  }
}

const float* Kernels::widened(ConstTensor x, int64_t at, int64_t count, float* room) const {
  if (x.dtype == DType::kF32) return x.f32() + at;
  loops_.from_bf16(x.bf16() + at, room, count);
  return room;
}

void Kernels::backward_row(const Preactivation& pre, int64_t at, int64_t count, float* dy) const {
  const auto apply = loops_.activation_backward[static_cast<size_t>(pre.activation)];
  float room[kRowChunk];
  for (int64_t i = 0; i < count; i += kRowChunk) {
    const int64_t part = std::min(kRowChunk, count - i);
    apply(widened(pre.values, at + i, part, room), dy + i, part);
  }
}

void Kernels::activation_forward(ConstTensor x, Activation activation, Tensor y, Tensor kept) {
  const ProfileScope scope(pool_.profiler(), "activation_forward", bytes_of({x, y, kept}));
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  const int64_t columns = y.columns();
  parallel(y.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    float room[kRowChunk];
    for (int64_t at = begin * columns; at < end * columns; at += kRowChunk) {
      const int64_t count = std::min(kRowChunk, end * columns - at);
      const float* from = widened(x, at, count, room);
      if (kept) {
        keep_row(from, kept, at, count);
        from = widened(kept, at, count, room);
      }
      float* const to = y.dtype == DType::kF32 ? y.f32() + at : room;
      apply(from, to, count);
      keep_row(to, y, at, count);
    }
  });
}

void Kernels::activation_backward(ConstTensor x, Activation activation, Tensor dy) {
  const ProfileScope scope(pool_.profiler(), "activation_backward", bytes_of({x, dy, dy}));
  const int64_t columns = dy.columns();
  parallel(dy.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    float room[kRowChunk];
    for (int64_t at = begin * columns; at < end * columns; at += kRowChunk) {
      const int64_t count = std::min(kRowChunk, end * columns - at);
      widened(dy, at, count, room);
      float* const d = dy.dtype == DType::kF32 ? dy.f32() + at : room;
      backward_row({x, activation}, at, count, d);
      keep_row(d, dy, at, count);
    }
  });
}

void Kernels::gated_activation_forward(ConstTensor x, Activation activation, Tensor y,
                                       Tensor kept) {
  const ProfileScope scope(pool_.profiler(), "gated_activation_forward", bytes_of({x, y, kept}));
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  const int64_t width = y.columns();
  assert(x.columns() == 2 * width && x.rows() == y.rows());
  // The activated half and the gate of some elements, as they are kept.
  const auto activate = [&](int64_t row, int64_t c, int64_t count) {
    float input_room[kRowChunk], gate_room[kRowChunk], activated[kRowChunk];
    const int64_t at = row * 2 * width + c;
    const float* input = widened(x, at, count, input_room);
    const float* gate = widened(x, at + width, count, gate_room);
    if (kept) {
      keep_row(input, kept, at, count);
      keep_row(gate, kept, at + width, count);
      input = widened(kept, at, count, input_room);
      gate = widened(kept, at + width, count, gate_room);
    }
    apply(input, activated, count);
    for (int64_t i = 0; i < count; ++i) activated[i] *= gate[i];
    keep_row(activated, y, row * width + c, count);
  };
  parallel(y.rows(), row_grain(2 * width), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < width; c += kRowChunk) {
        activate(row, c, std::min(kRowChunk, width - c));
      }
    }
  });
}

void Kernels::gated_activation_backward(ConstTensor x, Activation activation, ConstTensor dy,
                                        Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "gated_activation_backward", bytes_of({x, dy, dx}));
  const auto apply = loops_.activation_forward[static_cast<size_t>(activation)];
  const auto apply_backward = loops_.activation_backward[static_cast<size_t>(activation)];
  const int64_t width = dy.columns();
  assert(x.columns() == 2 * width && dx.columns() == 2 * width);
  // y = act(a) b:  db = dy act(a);  da = dy b act'(a), whose last factor apply_backward multiplies.
  const auto backward = [&](int64_t row, int64_t c, int64_t count) {
    float input_room[kRowChunk], gate_room[kRowChunk], d_room[kRowChunk];
    float activated[kRowChunk], dinput[kRowChunk];
    const int64_t at = row * 2 * width + c;
    const float* const input = widened(x, at, count, input_room);
    const float* const gate = widened(x, at + width, count, gate_room);
    const float* const d = widened(dy, row * width + c, count, d_room);
    apply(input, activated, count);
    for (int64_t i = 0; i < count; ++i) {
      activated[i] *= d[i];
      dinput[i] = d[i] * gate[i];
    }
    apply_backward(input, dinput, count);
    keep_row(dinput, dx, at, count);
    keep_row(activated, dx, at + width, count);
  };
  parallel(dy.rows(), row_grain(2 * width), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < width; c += kRowChunk) {
        backward(row, c, std::min(kRowChunk, width - c));
      }
    }
  });
}

}  // namespace berth
