#pragma once

// exp, tanh and erf without branches or tables, so that the compiler can vectorize the loops around
// them. NaN stays NaN, so that a model which diverged is noticed.

#include <cstdint>

namespace berth::BERTH_LOOPS {

// e^x with an error of at most 2 ulp. The result is 0 below -87.3, where it would be denormal, and
// infinity above 88.73. Reduces the range as Cody and Waite do, and takes the polynomial of Cephes'
// expf (Moshier 1989).
static inline float exponential(float x) {
  constexpr float kLow = -87.33654f, kHigh = 89.0f;
  constexpr float kLog2E = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer

  const float clamped = x < kLow ? kLow : (x > kHigh ? kHigh : x);
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = p * (r * r) + r + 1.0f;
  // 2^n is made of two factors, because n reaches 128, which is no exponent of a float.
  const int32_t whole = static_cast<int32_t>(__builtin_bit_cast(uint32_t, shifted) -
                                             __builtin_bit_cast(uint32_t, kRound));
  const int32_t half = whole >> 1;
  const float scale0 = __builtin_bit_cast(float, static_cast<uint32_t>(half + 127) << 23);
  const float scale1 = __builtin_bit_cast(float, static_cast<uint32_t>(whole - half + 127) << 23);
  const float result = y * scale0 * scale1;
  return x < kLow ? 0.0f : result;
}

// tanh x with an error of at most 4e-7, by the rational function (13/6) of Eigen; +-1 beyond 7.9.
static inline float hyperbolic_tangent(float x) {
  constexpr float kBound = 7.90531110763549805f;
  const float clamped = x < -kBound ? -kBound : (x > kBound ? kBound : x);
  const float s = clamped * clamped;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  // At the bound the quotient is 1 or the number below, as the compiler orders the operations.
  const float quotient = clamped * p / q;
  return __builtin_fabsf(x) > kBound ? __builtin_copysignf(1.0f, x) : quotient;
}

// erf x with an absolute error of at most 2e-7, given exp(-x*x) (Abramowitz and Stegun, 7.1.26).
static inline float error_function(float x, float exp_minus_square) {
  const float magnitude = __builtin_fabsf(x);
  const float t = 1.0f / (1.0f + 0.3275911f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 1.0f - p * t * exp_minus_square;
  return __builtin_copysignf(tail, x);
}

}  // namespace berth::BERTH_LOOPS
