#include "trainer/cpu/kernels/loops/families.h"
#include "trainer/cpu/kernels/loops/functions.h"

namespace berth::BERTH_LOOPS {
namespace {

constexpr float kInverseRoot2 = 0.70710678118654752f;
constexpr float kInverseRoot2Pi = 0.39894228040143268f;
constexpr float kRoot2OverPi = 0.79788456080286536f;
constexpr float kCubic = 0.044715f;

// 1 / (1 + e^-x), with a small relative error on both sides.
inline float sigmoid(float x) {
  const float smaller = exponential(x < 0.0f ? x : -x);  // at most 1, so it does not overflow
  return (x < 0.0f ? smaller : 1.0f) / (1.0f + smaller);
}

}  // namespace

void gelu(const float* pre, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float x = pre[i];
    const float erf = error_function(x * kInverseRoot2, exponential(-0.5f * x * x));
    y[i] = 0.5f * x * (1.0f + erf);
  }
}

// gelu' = cdf(x) + x pdf(x)
void gelu_backward(const float* pre, float* dy, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float x = pre[i];
    const float bell = exponential(-0.5f * x * x);
    const float cdf = 0.5f * (1.0f + error_function(x * kInverseRoot2, bell));
    dy[i] *= cdf + x * bell * kInverseRoot2Pi;
  }
}

void gelu_tanh(const float* pre, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float x = pre[i];
    y[i] = 0.5f * x * (1.0f + hyperbolic_tangent(kRoot2OverPi * (x + kCubic * x * x * x)));
  }
}

void gelu_tanh_backward(const float* pre, float* dy, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    // Beyond 10 the slope is 0 or 1. Clamping x keeps its powers from overflowing there.
    const float x = pre[i] < -10.0f ? -10.0f : (pre[i] > 10.0f ? 10.0f : pre[i]);
    const float t = hyperbolic_tangent(kRoot2OverPi * (x + kCubic * x * x * x));
    const float inner = kRoot2OverPi * (1.0f + 3.0f * kCubic * x * x);
    dy[i] *= 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
  }
}

void relu(const float* pre, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = pre[i] < 0.0f ? 0.0f : pre[i];
}

void relu_backward(const float* pre, float* dy, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dy[i] = pre[i] > 0.0f ? dy[i] : 0.0f;
}

void tanh(const float* pre, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = hyperbolic_tangent(pre[i]);
}

void tanh_backward(const float* pre, float* dy, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float t = hyperbolic_tangent(pre[i]);
    dy[i] *= 1.0f - t * t;
  }
}

void silu(const float* pre, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = pre[i] * sigmoid(pre[i]);
}

// silu' = s(x) + x s(x) (1 - s(x))
void silu_backward(const float* pre, float* dy, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float x = pre[i], s = sigmoid(x);
    dy[i] *= s + x * s * (1.0f - s);
  }
}

}  // namespace berth::BERTH_LOOPS
