#include <algorithm>

#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::gather_rows(ConstTensor x, ConstTensor rows, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "gather_rows", 2 * bytes_of({y}));
  const int64_t hidden = x.columns();
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    loops_.copy(x.f32() + row * hidden, y.f32() + r * hidden, hidden);
  }
}

void Kernels::scatter_rows(ConstTensor y, ConstTensor rows, Tensor x) {
  const ProfileScope scope(pool_.profiler(), "scatter_rows", bytes_of({y, x}));
  const int64_t hidden = x.columns();
  zero(x);
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    loops_.copy(y.f32() + r * hidden, x.f32() + row * hidden, hidden);
  }
}

}  // namespace berth
