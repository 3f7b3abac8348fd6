#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trainer/kernels/cpu/bf16/bf16_loops.h"

// Vectors of sixteen pairs of bf16. For files that are compiled for CPUs which have AVX512_BF16,
// each of which keeps its own: no other file may get at these functions.
namespace berth {
namespace {

struct Vectors {
  __m512i v[16];
  __m512i& operator[](size_t i) { return v[i]; }
  const __m512i& operator[](size_t i) const { return v[i]; }
};

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

__m512i pairs_of(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Of 32 depths, from `d` on, of the 16 lanes from `first` on, each of whose elements are
// contiguous.
Vectors contiguous_pairs_of(const Lanes& lanes, int64_t first, int64_t d) {
  const __mmask16 low = first_lanes(lanes.depth - d), high = first_lanes(lanes.depth - d - 16);
  Vectors pairs;
  for (int64_t i = 0; i < 16; ++i) {
    const bool exists = first + i < lanes.count;
    const float* const x = lanes.data + (exists ? (first + i) * lanes.lane_stride + d : 0);
    pairs[static_cast<size_t>(i)] =
        pairs_of(_mm512_maskz_loadu_ps(exists ? low : __mmask16{0}, x),
                 _mm512_maskz_loadu_ps(exists ? high : __mmask16{0}, x + (high ? 16 : 0)));
  }
  return pairs;
}

// Of two depths of 16 lanes, lane by lane.
__m512i interleaved_pairs_of(__m512 even_depth, __m512 odd_depth) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, pairs_of(even_depth, odd_depth));
}

// The transpose of 16 vectors of 16 pairs: by pairs, by fours, then by quarters of vectors.
Vectors transpose(const Vectors& x) {
  Vectors y, z;
  for (size_t i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (size_t i = 0; i < 16; i += 4) {
    z[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    z[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    z[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    z[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  for (size_t i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_i32x4(z[i], z[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(z[i], z[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_i32x4(z[i + 8], z[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_i32x4(z[i + 8], z[i + 12], 0xdd);
  }
  for (size_t i = 0; i < 4; ++i) {
    z[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
    z[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0x88);
    z[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd);
    z[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0xdd);
  }
  return z;
}

}  // namespace
}  // namespace berth
