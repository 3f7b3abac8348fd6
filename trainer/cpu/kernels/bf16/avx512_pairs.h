#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trainer/cpu/kernels/bf16/bf16_loops.h"

// Vectors of sixteen pairs of bf16. Only files that are compiled for AVX512_BF16 may include this
// header. Its functions are in an unnamed namespace. So each of these files has its own copies, and
// no other file can be linked to them.
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

// Packing waits for memory. The hardware prefetches along one row, but a panel is packed from short
// pieces of many rows. So packing prefetches what it will read next; the address need not exist.
void prefetch(const Lanes& lanes, int64_t lane, int64_t d) {
  const int64_t element = lane * lanes.lane_stride + d * lanes.depth_stride;
  const auto at = reinterpret_cast<uintptr_t>(lanes.data) +
                  static_cast<uintptr_t>(element * lanes.element_bytes());
  _mm_prefetch(reinterpret_cast<const void*>(at), _MM_HINT_T0);
}

// Prefetches 32 depths, from `d` on, of lanes whose elements are contiguous along the depth.
void prefetch_contiguous(const Lanes& lanes, int64_t first, int64_t count, int64_t d) {
  for (int64_t lane = first; lane < first + count; ++lane) {
    prefetch(lanes, lane, d);
    if (!lanes.is_bf16) prefetch(lanes, lane, d + 16);
  }
}

// Prefetches `count` depths, from `d` on, of the 16 adjacent lanes from `first` on.
void prefetch_adjacent(const Lanes& lanes, int64_t first, int64_t d, int64_t count) {
  for (int64_t depth = d; depth < d + count; ++depth) {
    prefetch(lanes, first, depth);
  }
}

// Returns the pairs of 32 depths, from `d` on, of kCount lanes, from `first` on, whose elements are
// contiguous along the depth: one vector for each lane. The other vectors are 0.
template <int64_t kCount>
[[gnu::always_inline]] inline Vectors contiguous_pairs_of(const Lanes& lanes, int64_t first,
                                                          int64_t d) {
  Vectors pairs;
#pragma GCC unroll 16
  for (size_t i = 0; i < 16; ++i) pairs[i] = _mm512_setzero_si512();
  if (lanes.is_bf16) {
    const __mmask32 read = _cvtu32_mask32(
        static_cast<uint32_t>((uint64_t{1} << std::clamp<int64_t>(lanes.depth - d, 0, 32)) - 1));
    const int64_t count = std::min(kCount, lanes.count - first);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kCount; ++i) {
      if (i < count) {
        pairs[static_cast<size_t>(i)] = _mm512_maskz_loadu_epi16(read, lanes.at(first + i, d));
      }
    }
    return pairs;
  }
  if (first + kCount <= lanes.count && d + 32 <= lanes.depth) {
    const auto* x = reinterpret_cast<const float*>(lanes.at(first, d));
#pragma GCC unroll 16
    for (size_t i = 0; i < kCount; ++i, x += lanes.lane_stride) {
      pairs[i] = pairs_of(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16));
    }
    return pairs;
  }
  const __mmask16 low = first_lanes(lanes.depth - d), high = first_lanes(lanes.depth - d - 16);
  const int64_t count = std::min(kCount, lanes.count - first);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kCount; ++i) {
    if (i >= count) continue;
    const auto* const x = reinterpret_cast<const float*>(lanes.at(first + i, d));
    pairs[static_cast<size_t>(i)] =
        pairs_of(_mm512_maskz_loadu_ps(low, x), _mm512_maskz_loadu_ps(high, x + (high ? 16 : 0)));
  }
  return pairs;
}

// Returns the pairs of two depths of 16 lanes, lane by lane.
__m512i interleaved_pairs_of(__m512 even_depth, __m512 odd_depth) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, pairs_of(even_depth, odd_depth));
}

// Returns the pairs of depths d and d + 1 of the adjacent lanes [first, first + 16), lane by lane.
// Elements beyond the depth, and of lanes that are not in `read`, are 0.
[[gnu::always_inline]] inline __m512i adjacent_pairs_of(const Lanes& lanes, int64_t first,
                                                        __mmask16 read, int64_t d) {
  if (lanes.is_bf16) {
    const auto row = [&](int64_t depth) {
      if (read == 0 || depth >= lanes.depth) return _mm512_setzero_si512();
      const __m512i numbers = _mm512_maskz_loadu_epi16(read, lanes.at(first, depth));
      return _mm512_cvtepu16_epi32(_mm512_castsi512_si256(numbers));
    };
    return _mm512_or_si512(row(d), _mm512_slli_epi32(row(d + 1), 16));
  }
  const auto row = [&](int64_t depth) {
    return read != 0 && depth < lanes.depth ? _mm512_maskz_loadu_ps(read, lanes.at(first, depth))
                                            : _mm512_setzero_ps();
  };
  return interleaved_pairs_of(row(d), row(d + 1));
}

// The transpose of 16 vectors of 16 pairs. It exchanges pairs, then fours, then quarters of
// vectors.
[[gnu::always_inline]] inline Vectors transpose(const Vectors& x) {
  Vectors y, z;
#pragma GCC unroll 8
  for (size_t i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < 16; i += 4) {
    z[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    z[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    z[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    z[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_i32x4(z[i], z[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(z[i], z[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_i32x4(z[i + 8], z[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_i32x4(z[i + 8], z[i + 12], 0xdd);
  }
#pragma GCC unroll 8
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
