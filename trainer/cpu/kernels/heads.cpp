#include "trainer/cpu/kernels/dropout_draw.h"

namespace berth {

void Kernels::gather_rows(Tensor x, Tensor rows, Tensor y) {
  const int64_t hidden = x.columns();
  for (int64_t b = 0; b < y.rows(); ++b) {
    const int64_t row = rows.i32()[b];
    assert(row >= 0 && row < x.rows());
    loops_.copy(x.f32() + row * hidden, y.f32() + b * hidden, hidden);
  }
}

void Kernels::gather_rows_backward(Tensor dy, Tensor rows, Tensor dx) {
  const int64_t hidden = dx.columns();
  zero(dx);
  for (int64_t b = 0; b < dy.rows(); ++b) {
    const int64_t row = rows.i32()[b];
    assert(row >= 0 && row < dx.rows());
    loops_.copy(dy.f32() + b * hidden, dx.f32() + row * hidden, hidden);
  }
}

}  // namespace berth
