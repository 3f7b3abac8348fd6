// This file is compiled with AVX512_BF16. It runs only where native_bf16_loops() found that.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "trainer/cpu/kernels/bf16/avx512_pairs.h"
#include "trainer/cpu/kernels/bf16/bf16_loops.h"

namespace berth::bf16_avx512 {
namespace {

constexpr int64_t kPanelRows = 12;  // the sums of 12 x 32 take 24 of the 32 registers

struct Stored {
  static void store(uint16_t* to, __mmask16 lanes, __m512i pairs) {
    _mm512_mask_storeu_epi32(to, lanes, pairs);
  }
};

// Stores whole vectors past the caches.
struct Streamed {
  static void store(uint16_t* to, __mmask16, __m512i pairs) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), pairs);
  }
};

// Packs lanes [kFirst, kFirst + 16), whose elements are contiguous along the depth.
template <typename Store, int64_t kWidth, int64_t kFirst>
void pack_contiguous(const Lanes& lanes, uint16_t* panel) {
  constexpr int64_t kCount = std::min<int64_t>(16, kWidth - kFirst);
  const __mmask16 stored = first_lanes(kCount);
  panel += 2 * kFirst;
  for (int64_t d = 0; d < lanes.depth; d += 32) {
    prefetch_contiguous(lanes, kFirst + kWidth, kCount, d);
    const Vectors pairs = transpose(contiguous_pairs_of<kCount>(lanes, kFirst, d));
    const int64_t count = (lanes.depth - d + 1) / 2;
#pragma GCC unroll 16
    for (int64_t p = 0; p < 16; ++p) {
      if (p < count) Store::store(panel, stored, pairs[static_cast<size_t>(p)]);
      panel += 2 * kWidth;
    }
  }
}

// Packs panels of adjacent lanes. All panels take two depths before any takes the next two, because
// these may be far away in memory.
template <typename Store, int64_t kWidth>
void pack_adjacent(const Lanes& lanes, uint16_t* panels) {
  constexpr int64_t kAhead = 1024;  // in elements; far enough for a cache line to arrive
  assert(lanes.count > 0);
  const int64_t ahead = std::max<int64_t>(2, kAhead / lanes.count);
  const int64_t panel_size = loops.padded(lanes.depth) * kWidth;
  for (int64_t d = 0; d < lanes.depth; d += 2) {
    uint16_t* panel = panels + d * kWidth;
    for (int64_t begin = 0; begin < lanes.count; begin += kWidth, panel += panel_size) {
#pragma GCC unroll 2
      for (int64_t lane = 0; lane < kWidth; lane += 16) {
        const int64_t first = std::min(begin + lane, lanes.count);
        const __mmask16 read = first_lanes(std::min(kWidth - lane, lanes.count - first));
        prefetch_adjacent(lanes, first, d + ahead, 2);
        Store::store(panel + 2 * lane, first_lanes(kWidth - lane),
                     adjacent_pairs_of(lanes, first, read, d));
      }
    }
  }
}

template <typename Store>
void pack_columns(const Lanes& lanes, uint16_t* panel) {
  if (lanes.depth_stride != 1) return pack_adjacent<Store, kPanelColumns>(lanes, panel);
  pack_contiguous<Store, kPanelColumns, 0>(lanes, panel);
  pack_contiguous<Store, kPanelColumns, 16>(lanes, panel);
}

void pack_rows(const Lanes& lanes, uint16_t* panels) {
  if (lanes.depth_stride != 1) return pack_adjacent<Stored, kPanelRows>(lanes, panels);
  for_each_panel(loops, lanes, panels, pack_contiguous<Stored, kPanelRows, 0>);
}

struct Columns {
  __mmask16 low, high;
};

// A pair of bf16 numbers in each lane.
__m512bh repeated(int pair) {
  __m512i pairs = _mm512_set1_epi32(pair);
#ifdef __clang__
  asm("" : "+v"(pairs));  // clang 16 ends with a stack overflow where it looks through the cast
#endif
  return reinterpret_cast<__m512bh>(pairs);
}

// The sums stay in 2 * kRows registers.
template <int kRows>
void multiply_rows(const uint16_t* a, const uint16_t* b, int64_t pairs, Columns columns,
                   const Addend& addend, float* c, int64_t c_stride) {
  __m512 low[kRows], high[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    low[r] = high[r] = _mm512_setzero_ps();
    _mm_prefetch(c + r * c_stride, _MM_HINT_ET0);  // needed when the sums are done
    _mm_prefetch(c + r * c_stride + 16, _MM_HINT_ET0);
  }
  // C [kRows,32] += A [kRows,pairs] B [pairs,32], a pair of depths at a time.
  for (int64_t p = 0; p < pairs; ++p) {
    const auto b_low = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const auto b_high = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + 32));
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a + 2 * r, sizeof pair);
      const __m512bh x = repeated(pair);
      low[r] = _mm512_dpbf16_ps(low[r], x, b_low);
      high[r] = _mm512_dpbf16_ps(high[r], x, b_high);
    }
    a += 2 * kPanelRows;
    b += 2 * kPanelColumns;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* const row = c + r * c_stride;
    if (addend.data != nullptr) {
      const float* const added = addend.data + r * addend.stride;
      low[r] = _mm512_add_ps(low[r], _mm512_maskz_loadu_ps(columns.low, added));
      high[r] = _mm512_add_ps(high[r], _mm512_maskz_loadu_ps(columns.high, added + 16));
    }
    _mm512_mask_storeu_ps(row, columns.low, low[r]);
    _mm512_mask_storeu_ps(row + 16, columns.high, high[r]);
  }
}

void multiply(const uint16_t* a, const uint16_t* b, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  using Rows =
      void (*)(const uint16_t*, const uint16_t*, int64_t, Columns, const Addend&, float*, int64_t);
  constexpr std::array<Rows, kPanelRows> kByRows = {
      multiply_rows<1>, multiply_rows<2>,  multiply_rows<3>,  multiply_rows<4>,
      multiply_rows<5>, multiply_rows<6>,  multiply_rows<7>,  multiply_rows<8>,
      multiply_rows<9>, multiply_rows<10>, multiply_rows<11>, multiply_rows<12>};
  kByRows[static_cast<size_t>(rows - 1)](
      a, b, depth / 2, {first_lanes(columns), first_lanes(columns - 16)}, addend, c, c_stride);
}

void end_streaming() { _mm_sfence(); }

}  // namespace

const Bf16Loops loops = {.name = "bf16",
                         .panel_rows = kPanelRows,
                         .depth_multiple = 2,
                         .pack_rows = pack_rows,
                         .pack_columns = pack_columns<Stored>,
                         .multiply = multiply,
                         .stream_columns = pack_columns<Streamed>,
                         .end_streaming = end_streaming};

}  // namespace berth::bf16_avx512
