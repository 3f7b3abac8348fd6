#pragma once

#include <cstdint>

namespace berth {

// Conversions between float and the two 16-bit formats: IEEE binary16 (f16), and bfloat16, which is
// the upper half of a float. To 16 bits they round to nearest, ties to even; overflow gives
// infinity and NaN stays NaN.
uint16_t to_bf16(float value);
uint16_t to_f16(float value);

// These conversions are exact.
float from_bf16(uint16_t bits);
float from_f16(uint16_t bits);

}  // namespace berth
