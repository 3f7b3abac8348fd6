#include <algorithm>
#include <cassert>

#include "trainer/cpu/kernels/kernels.h"

namespace berth {

void Kernels::sequence_means(ConstTensor x, ConstTensor cu_seqlens, Tensor means) {
  const ProfileScope scope(pool_.profiler(), "sequence_means", bytes_of({x, means}));
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

void Kernels::sequence_means_backward(ConstTensor dmeans, ConstTensor cu_seqlens, Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "sequence_means_backward", bytes_of({dmeans, dx}));
  const int64_t hidden = dx.columns();
  parallel(dmeans.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      const float* dmean = dmeans.f32() + b * hidden;
      const float scale = 1.0f / static_cast<float>(std::max<int64_t>(1, end - begin));
      for (int64_t t = begin; t < end; ++t) {
        float* row = dx.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) row[h] = scale * dmean[h];
      }
    }
  });
}

void Kernels::sequence_maxima(ConstTensor x, ConstTensor cu_seqlens, Tensor maxima, Tensor places) {
  const ProfileScope scope(pool_.profiler(), "sequence_maxima", bytes_of({x, maxima, places}));
  const int64_t hidden = x.columns();
  parallel(maxima.rows(), row_grain(hidden), [&](int64_t first, int64_t last, int) {
    for (int64_t b = first; b < last; ++b) {
      const int32_t begin = cu_seqlens.i32()[b], end = cu_seqlens.i32()[b + 1];
      assert(begin < end);
      float* most = maxima.f32() + b * hidden;
      int32_t* place = places.i32() + b * hidden;
      std::copy_n(x.f32() + begin * hidden, hidden, most);
      std::fill_n(place, hidden, begin);
      for (int32_t t = begin + 1; t < end; ++t) {
        const float* row = x.f32() + t * hidden;
        for (int64_t h = 0; h < hidden; ++h) {
          if (row[h] <= most[h]) continue;
          most[h] = row[h];
          place[h] = t;
        }
      }
    }
  });
}

void Kernels::sequence_maxima_backward(ConstTensor dmaxima, ConstTensor places, Tensor dx) {
  const ProfileScope scope(pool_.profiler(), "sequence_maxima_backward", bytes_of({dmaxima, dx}));
  const int64_t hidden = dx.columns();
  zero(dx);
  for (int64_t b = 0; b < dmaxima.rows(); ++b) {
    for (int64_t h = 0; h < hidden; ++h) {
      dx.f32()[places.i32()[b * hidden + h] * hidden + h] = dmaxima.f32()[b * hidden + h];
    }
  }
}

}  // namespace berth
