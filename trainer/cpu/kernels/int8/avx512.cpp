// This file is compiled with AVX512_VNNI. It runs only where supported_int8_loops() found that.
//
// VNNI multiplies four unsigned bytes by four signed ones and adds the products in int32, without
// an error. The numbers of rows are made unsigned by adding 128, and the sums begin with minus the
// excess.
#include <immintrin.h>

#include <array>
#include <cstring>

#include "trainer/cpu/kernels/int8/int8_sums.h"

namespace berth::int8_avx512 {
namespace {

constexpr int64_t kRows = 12, kColumns = 32;  // the sums take 24 of the 32 registers

float quantize(const float* x, int64_t depth, std::byte* row) {
  return quantize_with(x, depth, loops.padded(depth), [row](__m512i numbers, int64_t d) {
    const __m128i bytes = _mm512_cvtepi32_epi8(numbers);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row + d),
                     _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(0x80))));
  });
}

// The sums stay in 2 * kCount registers.
template <int kCount>
void multiply_rows(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
                   const Int8Columns& panel, int64_t depth, int64_t columns, const Addend& addend,
                   float* c, int64_t c_stride) {
  __m512i low[kCount], high[kCount];
#pragma GCC unroll 12
  for (int r = 0; r < kCount; ++r) {
    low[r] = _mm512_loadu_si512(panel.beginning);
    high[r] = _mm512_loadu_si512(panel.beginning + 16);
  }
  const std::byte* thirds[3] = {rows_at, rows_at + 4 * row_stride, rows_at + 8 * row_stride};
  const int8_t* b = panel.values;
  // C [kCount,32] += A [kCount,4] B [4,32], four depths at a time.
  for (int64_t d = 0; d < depth; d += 4) {
    const __m512i b_low = _mm512_loadu_si512(b), b_high = _mm512_loadu_si512(b + 64);
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
      int four;
      std::memcpy(&four, thirds[r / 4] + (r % 4) * row_stride + d, sizeof four);
      const __m512i a = _mm512_set1_epi32(four);
      low[r] = _mm512_dpbusd_epi32(low[r], a, b_low);
      high[r] = _mm512_dpbusd_epi32(high[r], a, b_high);
    }
    b += 4 * kColumns;
  }
  // c = addend + sums * (the row's scale * the column's scale).
  const __m512 low_scales = _mm512_loadu_ps(panel.scales);
  const __m512 high_scales = _mm512_loadu_ps(panel.scales + 16);
  const __mmask16 low_columns = lanes_below(columns), high_columns = lanes_below(columns - 16);
#pragma GCC unroll 12
  for (int r = 0; r < kCount; ++r) {
    const __m512 scale = _mm512_set1_ps(row_scales[r]);
    const float* const added = addend.data ? addend.data + r * addend.stride : nullptr;
    float* const row = c + r * c_stride;
    store_sums(low[r], _mm512_mul_ps(scale, low_scales), low_columns, added, row);
    store_sums(high[r], _mm512_mul_ps(scale, high_scales), high_columns,
               added ? added + 16 : nullptr, row + 16);
  }
}

void multiply(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
              const Int8Columns& panel, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  using Rows = void (*)(const std::byte*, int64_t, const float*, const Int8Columns&, int64_t,
                        int64_t, const Addend&, float*, int64_t);
  constexpr std::array<Rows, kRows> kByRows = {
      multiply_rows<1>, multiply_rows<2>,  multiply_rows<3>,  multiply_rows<4>,
      multiply_rows<5>, multiply_rows<6>,  multiply_rows<7>,  multiply_rows<8>,
      multiply_rows<9>, multiply_rows<10>, multiply_rows<11>, multiply_rows<12>};
  kByRows[static_cast<size_t>(rows - 1)](rows_at, row_stride, row_scales, panel, depth, columns,
                                         addend, c, c_stride);
}

}  // namespace

const Int8Loops loops = {.name = "int8-vnni",
                         .instruction_set = "avx512",
                         .panel_rows = kRows,
                         .panel_columns = kColumns,
                         .group = 4,
                         .depth_multiple = 16,
                         .row_element_bytes = 1,
                         .row_offset = 128,
                         .quantize = quantize,
                         .multiply = multiply};

}  // namespace berth::int8_avx512
