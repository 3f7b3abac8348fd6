#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "trainer/kernels/cpu/cpu_fp32.h"

namespace berth {

void CpuFp32::gather_rows(Tensor x, Tensor rows, Tensor y) {
  const int64_t hidden = x.columns();
  for (int64_t b = 0; b < y.rows(); ++b) {
    const int64_t row = rows.i32()[b];
    assert(row >= 0 && row < x.rows());
    loops_.copy(x.f32() + row * hidden, y.f32() + b * hidden, hidden);
  }
}

void CpuFp32::gather_rows_backward(Tensor dy, Tensor rows, Tensor dx) {
  const int64_t hidden = dx.columns();
  zero(dx);
  for (int64_t b = 0; b < dy.rows(); ++b) {
    const int64_t row = rows.i32()[b];
    assert(row >= 0 && row < dx.rows());
    loops_.copy(dy.f32() + b * hidden, dx.f32() + row * hidden, hidden);
  }
}

void CpuFp32::cross_entropy(Tensor logits, Tensor labels, StepState& state, Tensor dlogits) {
  const int64_t rows = logits.rows(), classes = logits.columns();
  std::vector<double> losses(static_cast<size_t>(rows));
  parallel(rows, row_grain(classes), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float* row = logits.f32() + b * classes;
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      if (label < 0) {
        if (dlogits) std::fill_n(dlogits.f32() + b * classes, classes, 0.0f);
        continue;
      }
      const float max = loops_.maximum(row, classes);
      const double log_sum =
          static_cast<double>(max) + std::log(loops_.sum_of_exp(row, max, classes));
      losses[static_cast<size_t>(b)] = log_sum - static_cast<double>(row[label]);
      if (dlogits) {
        float* gradient = dlogits.f32() + b * classes;
        loops_.softmax(row, static_cast<float>(log_sum), classes, gradient);
        gradient[label] -= 1.0f;
      }
    }
  });
  CpuStepState& cpu = cpu_state(state);
  cpu.loss_sum = std::accumulate(losses.begin(), losses.end(), cpu.loss_sum);
  const int32_t* const begin = labels.i32();
  cpu.examples += static_cast<double>(
      std::count_if(begin, begin + rows, [](int32_t label) { return label >= 0; }));
}

}  // namespace berth
