#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::rotate_by(float direction, Tensor x, int64_t columns, ConstTensor positions,
                        const RotaryAngles& angles) {
  const int64_t half = angles.cosines.columns();
  assert(columns % (2 * half) == 0 && columns <= x.columns());
  parallel(x.rows(), row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t position = positions.i32()[t];
      assert(position >= 0 && position < angles.cosines.rows());
      const float* const cosine = angles.cosines.f32() + position * half;
      const float* const sine = angles.sines.f32() + position * half;
      float* const row = x.f32() + t * x.columns();
      for (float* head = row; head < row + columns; head += 2 * half) {
        for (int64_t i = 0; i < half; ++i) {
          const float first = head[i], second = head[half + i], turn = direction * sine[i];
          head[i] = first * cosine[i] - second * turn;
          head[half + i] = second * cosine[i] + first * turn;
        }
      }
    }
  });
}

void Kernels::rotate(Tensor x, int64_t columns, ConstTensor positions, const RotaryAngles& angles) {
  const ProfileScope scope(pool_.profiler(), "rotate", 2 * bytes_of({x}));
  rotate_by(1, x, columns, positions, angles);
}

void Kernels::rotate_backward(Tensor dx, int64_t columns, ConstTensor positions,
                              const RotaryAngles& angles) {
  const ProfileScope scope(pool_.profiler(), "rotate_backward", 2 * bytes_of({dx}));
  rotate_by(-1, dx, columns, positions, angles);
}

}  // namespace berth
