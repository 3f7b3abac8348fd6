#pragma once

#include <cstdint>

namespace berth {

// Arithmetic on polynomials over GF(2) modulo a CRC polynomial. Bits are reflected, as in the CRC
// itself: 1 << 31 stands for 1 and 1 << 30 for x.
template <uint32_t kPolynomial>
struct CrcPolynomial {
  static constexpr uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
      if (a & bit) product ^= b;
      b = (b >> 1) ^ ((b & 1) ? kPolynomial : 0);
    }
    return product;
  }

  // x^exponent. Appending `exponent` zero bits to a message multiplies its CRC register by this.
  static constexpr uint32_t x_to(uint64_t exponent) {
    uint32_t result = uint32_t{1} << 31;
    uint32_t power = uint32_t{1} << 30;  // x, then x^2, x^4, ...
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1) result = multiply(result, power);
      power = multiply(power, power);
    }
    return result;
  }
};

}  // namespace berth
