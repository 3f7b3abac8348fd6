#include "trainer/cpu/kernels/loops/families.h"

namespace berth::BERTH_LOOPS {
namespace {

// A block stays in the first-level cache between the passes over it.
constexpr int64_t kBlock = 64;

// a * b + c, rounded once where the CPU can. A compiler chooses by itself which product of a sum it
// fuses, and may choose otherwise in a loop's last elements. Then the bits of an update would
// depend on where a rank's share of the parameters begins.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// Ignores the signs, so that -0 counts as zero.
bool any_nonzero(const float* x, int64_t count) {
  uint32_t bits = 0;
#pragma omp simd reduction(| : bits)
  for (int64_t i = 0; i < count; ++i) bits |= __builtin_bit_cast(uint32_t, x[i]) << 1;
  return bits != 0;
}

void update(float* w, const float* g, float* m, float* v, int64_t count,
            const AdamWFactors& factors) {
  const AdamWFactors f = factors;
  const float rest1 = 1.0f - f.beta1, rest2 = 1.0f - f.beta2;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * f.gradient_scale;
    const float moment1 = fused(f.beta1, m[i], rest1 * gradient);
    const float moment2 = fused(f.beta2, v[i], rest2 * gradient * gradient);
    const float denominator = fused(__builtin_sqrtf(moment2), f.inverse_root_correction, f.epsilon);
    w[i] = fused(w[i], f.keep, -(f.step_size * moment1 / denominator));
    m[i] = moment1;
    v[i] = moment2;
  }
}

}  // namespace

void decay(float* w, int64_t count, float keep) {
  if (keep == 1.0f) return;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) w[i] *= keep;
}

// The update is bound by memory, and most of an embedding table has no gradient. So a block of zero
// gradients is not written back, and a block whose moments are zero as well only decays.
bool adamw(float* w, float* g, float* m, float* v, int64_t count, const AdamWFactors& factors) {
  bool has_moments = false;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = count - begin < kBlock ? count - begin : kBlock;
    const bool has_gradient = any_nonzero(g + begin, size);
    if (has_gradient || any_nonzero(m + begin, size) || any_nonzero(v + begin, size)) {
      has_moments = true;
      update(w + begin, g + begin, m + begin, v + begin, size, factors);
      if (has_gradient) __builtin_memset(g + begin, 0, static_cast<unsigned long>(size) * 4);
    } else {
      decay(w + begin, size, factors.keep);
    }
  }
  return has_moments;
}

namespace {

// Squares are summed in float inside a block, and in double over the blocks.
constexpr int64_t kLambBlock = 64;

float direction_of_block(const float* w, float* g, float* m, float* v, int64_t count,
                         const LambFactors& f) {
  const float rest1 = 1.0f - f.beta1, rest2 = 1.0f - f.beta2;
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * f.gradient_scale;
    const float moment1 = fused(f.beta1, m[i], rest1 * gradient);
    const float moment2 = fused(f.beta2, v[i], rest2 * gradient * gradient);
    const float denominator = fused(__builtin_sqrtf(moment2), f.inverse_root_correction, f.epsilon);
    const float step = moment1 * f.correction / denominator + f.weight_decay * w[i];
    squares += step * step;
    g[i] = step;
    m[i] = moment1;
    v[i] = moment2;
  }
  return squares;
}

}  // namespace

double lamb_direction(const float* w, float* g, float* m, float* v, int64_t count,
                      const LambFactors& factors) {
  double squares = 0;
  for (int64_t begin = 0; begin < count; begin += kLambBlock) {
    const int64_t size = count - begin < kLambBlock ? count - begin : kLambBlock;
    squares += static_cast<double>(
        direction_of_block(w + begin, g + begin, m + begin, v + begin, size, factors));
  }
  return squares;
}

void lamb_apply(float* w, float* g, int64_t count, float rate) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    w[i] -= rate * g[i];
    g[i] = 0;
  }
}

}  // namespace berth::BERTH_LOOPS
