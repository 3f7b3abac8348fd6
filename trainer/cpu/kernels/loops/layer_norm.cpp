#include "trainer/cpu/kernels/loops/families.h"
#include "trainer/cpu/kernels/loops/philox_lanes.h"

namespace berth::BERTH_LOOPS {
namespace {

void scale_row(const float* x, float mean, float rstd, const float* gamma, const float* beta,
               int64_t columns, float* y) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) y[c] = (x[c] - mean) * rstd * gamma[c] + beta[c];
}

void normalize_row(const float* x, const float* gamma, const float* beta, float epsilon,
                   int64_t columns, float* y, float* mean_out, float* rstd_out) {
  const float inverse = 1.0f / static_cast<float>(columns);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < columns; ++c) sum += x[c];
  const float mean = sum * inverse;
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t c = 0; c < columns; ++c) squares += (x[c] - mean) * (x[c] - mean);
  const float rstd = 1.0f / __builtin_sqrtf(squares * inverse + epsilon);
  scale_row(x, mean, rstd, gamma, beta, columns, y);
  *mean_out = mean;
  *rstd_out = rstd;
}

// y = residual + factor * x for one row, or y = factor * x where residual is null.
void drop_row(const float* x, const float* residual, const DropoutDraw& draw, uint64_t counter,
              int64_t columns, float* y) {
  float factors[kDraws];
  for (int64_t begin = 0; begin < columns; begin += kDraws) {
    draw_factors(draw, counter, 0, static_cast<uint32_t>(begin / 8), factors);
    const int64_t count = columns - begin < kDraws ? columns - begin : kDraws;
    const float* from = x + begin;
    float* to = y + begin;
    if (residual == nullptr) {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) to[c] = from[c] * factors[c];
    } else {
      const float* base = residual + begin;
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) to[c] = base[c] + from[c] * factors[c];
    }
  }
}

}  // namespace

void dropout(const float* x, const DropoutDraw& draw, int64_t rows, int64_t columns, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    drop_row(x + r * columns, nullptr, draw, counter_of(draw, r), columns, y + r * columns);
  }
}

void layer_norm_forward(const float* x, const float* gamma, const float* beta, float epsilon,
                        int64_t rows, int64_t columns, float* y, float* mean, float* rstd) {
  for (int64_t r = 0; r < rows; ++r) {
    normalize_row(x + r * columns, gamma, beta, epsilon, columns, y + r * columns, mean + r,
                  rstd + r);
  }
}

void layer_norm_recompute(const float* x, const float* gamma, const float* beta, const float* mean,
                          const float* rstd, int64_t rows, int64_t columns, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    scale_row(x + r * columns, mean[r], rstd[r], gamma, beta, columns, y + r * columns);
  }
}

void add_layer_norm_forward(const float* x, const float* residual, const DropoutDraw* draw,
                            const float* gamma, const float* beta, float epsilon, int64_t rows,
                            int64_t columns, float* sum, float* y, float* mean, float* rstd) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* x_row = x + r * columns;
    const float* residual_row = residual + r * columns;
    float* sum_row = sum + r * columns;
    if (draw != nullptr) {
      drop_row(x_row, residual_row, *draw, counter_of(*draw, r), columns, sum_row);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sum_row[c] = residual_row[c] + x_row[c];
    }
    normalize_row(sum_row, gamma, beta, epsilon, columns, y + r * columns, mean + r, rstd + r);
  }
}

// With x_hat = (x - mean) rstd and a = dy gamma:
//   dx = rstd (a - mean(a) - x_hat mean(a x_hat)),  dgamma = sum dy x_hat,  dbeta = sum dy.
void layer_norm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                         const float* rstd, int64_t rows, int64_t columns, float* dx, float* dgamma,
                         float* dbeta) {
  const float inverse = 1.0f / static_cast<float>(columns);
  for (int64_t r = 0; r < rows; ++r) {
    const float* dy_row = dy + r * columns;
    const float* x_row = x + r * columns;
    const float row_mean = mean[r], row_rstd = rstd[r];
    // 1. The sums of a and of a x_hat over the row; the row's part of dgamma and dbeta.
    float sum = 0, dot_x = 0;
#pragma omp simd reduction(+ : sum, dot_x)
    for (int64_t c = 0; c < columns; ++c) {
      const float x_hat = (x_row[c] - row_mean) * row_rstd;
      const float a = dy_row[c] * gamma[c];
      sum += a;
      dot_x += a * x_hat;
      dgamma[c] += dy_row[c] * x_hat;
      dbeta[c] += dy_row[c];
    }
    // 2. dx of the row.
    if (dx == nullptr) continue;
    const float mean_a = sum * inverse, mean_ax = dot_x * inverse;
    float* dx_row = dx + r * columns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      const float x_hat = (x_row[c] - row_mean) * row_rstd;
      dx_row[c] = (dy_row[c] * gamma[c] - mean_a - x_hat * mean_ax) * row_rstd;
    }
  }
}

}  // namespace berth::BERTH_LOOPS
