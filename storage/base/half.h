#pragma once

#include <cstdint>

namespace berth {

// Numbers of 16 bits as files hold them: IEEE binary16 (f16) and bfloat16, the upper half of a
// float. Rounded to nearest, ties to even; what is too large becomes infinite, NaN stays NaN.
uint16_t to_bf16(float value);
uint16_t to_f16(float value);

// Exact.
float from_bf16(uint16_t bits);
float from_f16(uint16_t bits);

}  // namespace berth
