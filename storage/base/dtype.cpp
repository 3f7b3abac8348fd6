#include "storage/base/dtype.h"

#include <bit>
#include <cmath>

namespace berth {

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  const uint32_t odd = bits >> 16 & 1;
  return static_cast<uint16_t>((bits + 0x7fff + odd) >> 16);
}

uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);  // from 65520 on, rounds to infinity
  if (magnitude < 0x38800000) {                   // below 2^-14: subnormal, a multiple of 2^-24
    const float multiple = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(multiple));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  const uint32_t rounded = (magnitude + 0xfff + odd) >> 13;
  return static_cast<uint16_t>(sign | (rounded - (112u << 10)));
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 0) {  // zero or subnormal: mantissa / 2^24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

}  // namespace berth
