#pragma once

#include <cstdint>

namespace berth {

// Polynomials over GF(2) modulo a reflected CRC's, in its bit order: 1 << 31 is one, 1 << 30 is x.
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

  // x to a power: what a register is multiplied by where so many bits follow.
  static constexpr uint32_t x_to(uint64_t exponent) {
    uint32_t result = uint32_t{1} << 31;
    uint32_t power = uint32_t{1} << 30;  // x, then its squares
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1) result = multiply(result, power);
      power = multiply(power, power);
    }
    return result;
  }
};

}  // namespace berth
