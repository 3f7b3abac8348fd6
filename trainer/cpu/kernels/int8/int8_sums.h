#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "trainer/cpu/kernels/int8/int8_loops.h"

namespace berth {

// The parts that the loops for AVX512 and for AMX share. Only for files that are compiled with
// AVX512.

// The mask of the first `count` of sixteen lanes.
inline __mmask16 lanes_below(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// As Int8Loops::quantize. `store(numbers, d, lanes)` stores sixteen numbers of int32, from depth d
// on. It is called for every sixteen depths below `padded`.
template <typename Store>
float quantize_with(const float* x, int64_t depth, int64_t padded, const Store& store) {
  // The bits of positive floats have the same order as the numbers. Infinity and then NaN follow.
  __m512i bits = _mm512_setzero_si512();
  for (int64_t d = 0; d < depth; d += 16) {
    const __m512 part = _mm512_maskz_loadu_ps(lanes_below(depth - d), x + d);
    bits = _mm512_max_epi32(bits, _mm512_castps_si512(_mm512_abs_ps(part)));
  }
  const float largest =
      _mm512_cvtss_f32(_mm512_castsi512_ps(_mm512_set1_epi32(_mm512_reduce_max_epi32(bits))));
  const __m512 factor = _mm512_set1_ps(int8_factor(largest));
  for (int64_t d = 0; d < padded; d += 16) {
    const __m512 part = _mm512_maskz_loadu_ps(lanes_below(depth - d), x + d);
    store(_mm512_cvtps_epi32(_mm512_mul_ps(part, factor)), d);
  }
  return largest / kLargestInt8;
}

// Sixteen sums of a row, as floats that are added to the addend, for the columns of the mask.
inline void store_sums(__m512i sums, __m512 scales, __mmask16 columns, const float* added,
                       float* c) {
  __m512 x = added != nullptr ? _mm512_maskz_loadu_ps(columns, added) : _mm512_setzero_ps();
  x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scales, x);
  _mm512_mask_storeu_ps(c, columns, x);
}

}  // namespace berth
