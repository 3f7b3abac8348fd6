#include <algorithm>

#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::gather_rows(ConstTensor x, ConstTensor rows, Tensor y) {
  const int64_t hidden = x.columns();
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    loops_.copy(x.f32() + row * hidden, y.f32() + r * hidden, hidden);
  }
}

void Kernels::scatter_rows(ConstTensor y, ConstTensor rows, Tensor x) {
  const int64_t hidden = x.columns();
  zero(x);
  for (int64_t r = 0; r < y.rows(); ++r) {
    const int64_t row = rows.i32()[r];
    assert(row >= 0 && row < x.rows());
    loops_.copy(y.f32() + r * hidden, x.f32() + row * hidden, hidden);
  }
}

void Kernels::sequence_means(ConstTensor x, ConstTensor cu_seqlens, Tensor means) {
  const int64_t hidden = x.columns();
  parallel(means.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      float* mean = means.f32() + b * hidden;
      std::fill_n(mean, hidden, 0.0f);
      for (int64_t t = begin; t < end; ++t) {
        const float* row = x.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) mean[h] += row[h];
      }
      const float scale = 1.0f / static_cast<float>(std::max<int64_t>(1, end - begin));
      for (int64_t h = 0; h < hidden; ++h) mean[h] *= scale;
    }
  });
}

}  // namespace berth
