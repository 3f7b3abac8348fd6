// Compiled with AVX512_BF16: called only where native_bf16_loops() found it.
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "trainer/kernels/cpu/bf16/avx512_pairs.h"
#include "trainer/kernels/cpu/bf16/bf16_loops.h"

namespace berth::bf16_avx512 {
namespace {

constexpr int64_t kPanelRows = 12;  // by 32 columns: 24 of the 32 registers

struct Stored {
  static void store(uint16_t* to, __mmask16 lanes, __m512i pairs) {
    _mm512_mask_storeu_epi32(to, lanes, pairs);
  }
};

// Whole vectors, which do not go through the caches.
struct Streamed {
  static void store(uint16_t* to, __mmask16, __m512i pairs) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), pairs);
  }
};

// Lanes [first, first + 16) of lanes whose own elements are contiguous.
template <typename Store, int64_t kWidth>
void pack_contiguous(const Lanes& lanes, int64_t first, uint16_t* panel) {
  const __mmask16 stored = first_lanes(kWidth - first);
  for (int64_t d = 0; d < lanes.depth; d += 32) {
    const Vectors pairs = transpose(contiguous_pairs_of(lanes, first, d));
    const int64_t count = std::min<int64_t>(16, (lanes.depth - d + 1) / 2);
    for (int64_t p = 0; p < count; ++p) {
      Store::store(panel + ((d / 2 + p) * kWidth + first) * 2, stored,
                   pairs[static_cast<size_t>(p)]);
    }
  }
}

// The same of lanes that lie side by side.
template <typename Store, int64_t kWidth>
void pack_adjacent(const Lanes& lanes, int64_t first, uint16_t* panel) {
  const __mmask16 stored = first_lanes(kWidth - first), read = first_lanes(lanes.count - first);
  const float* x = lanes.data + (read ? first : 0);
  for (int64_t d = 0; d < lanes.depth; d += 2) {
    const bool has_second = d + 1 < lanes.depth;
    const __m512 even_row = _mm512_maskz_loadu_ps(read, x);
    const __m512 odd_row =
        has_second ? _mm512_maskz_loadu_ps(read, x + lanes.depth_stride) : _mm512_setzero_ps();
    Store::store(panel + (d / 2 * kWidth + first) * 2, stored,
                 interleaved_pairs_of(even_row, odd_row));
    if (has_second) x += 2 * lanes.depth_stride;
  }
}

template <typename Store, int64_t kWidth>
void pack(const Lanes& lanes, uint16_t* panel) {
  for (int64_t first = 0; first < kWidth; first += 16) {
    if (lanes.depth_stride == 1) {
      pack_contiguous<Store, kWidth>(lanes, first, panel);
    } else {
      pack_adjacent<Store, kWidth>(lanes, first, panel);
    }
  }
}

struct Columns {
  __mmask16 low, high;
};

// Sums stay in 2 * kRows registers.
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
  for (int64_t p = 0; p < pairs; ++p) {
    const auto b_low = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const auto b_high = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + 32));
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a + 2 * r, sizeof pair);
      const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
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
                         .pack_rows = pack<Stored, kPanelRows>,
                         .pack_columns = pack<Stored, kPanelColumns>,
                         .multiply = multiply,
                         .stream_columns = pack<Streamed, kPanelColumns>,
                         .end_streaming = end_streaming};

}  // namespace berth::bf16_avx512
