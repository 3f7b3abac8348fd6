// This file is compiled with AVX2. It runs only where supported_int8_loops() found that.
//
// AVX2 multiplies pairs of int16 and adds the two products in int32, without an error. Products of
// bytes (vpmaddubsw) need two instructions more for the same sums, and saturate. So numbers of rows
// are stored as int16, and those of columns become int16 when they are loaded.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "trainer/cpu/kernels/int8/int8_loops.h"

namespace berth::int8_avx2 {
namespace {

constexpr int64_t kRows = 6, kColumns = 16, kDepth = 16;  // 6 x 16 sums take 12 of 16 registers

__m256i absolute_bits(__m256 x) {
  return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
}

// The largest |x|, or something that is not finite if one of x is not: among positive floats, the
// order of their bits is that of the numbers, with infinity and then NaN behind them.
float largest_of(const float* x, int64_t depth) {
  __m256i largest = _mm256_setzero_si256();
  int64_t d = 0;
  for (; d + 8 <= depth; d += 8) {
    largest = _mm256_max_epi32(largest, absolute_bits(_mm256_loadu_ps(x + d)));
  }
  alignas(32) std::array<int32_t, 8> lanes;
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes.data()), largest);
  for (; d < depth; ++d) {
    const float magnitude = std::fabs(x[d]);
    int32_t bits;
    std::memcpy(&bits, &magnitude, sizeof bits);
    lanes[0] = std::max(lanes[0], bits);
  }
  const int32_t bits = *std::ranges::max_element(lanes);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

__m256i numbers_of(const float* x, __m256 factor) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factor));
}

// Sixteen numbers in int16. Packing works in halves of a vector, so these are put in order again.
__m256i sixteen_of(const float* x, __m256 factor) {
  const __m256i packed = _mm256_packs_epi32(numbers_of(x, factor), numbers_of(x + 8, factor));
  return _mm256_permute4x64_epi64(packed, 0b11'01'10'00);
}

float quantize(const float* x, int64_t depth, std::byte* row) {
  const float largest = largest_of(x, depth);
  const __m256 factor = _mm256_set1_ps(int8_factor(largest));
  auto* to = reinterpret_cast<__m256i*>(row);
  int64_t d = 0;
  for (; d + kDepth <= depth; d += kDepth) _mm256_storeu_si256(to++, sixteen_of(x + d, factor));
  if (d < depth) {
    std::array<float, kDepth> rest{};
    std::copy(x + d, x + depth, rest.begin());
    _mm256_storeu_si256(to, sixteen_of(rest.data(), factor));
  }
  return largest / kLargestInt8;
}

// The sums stay in 2 * kCount registers.
template <int kCount>
void multiply_rows(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
                   const Int8Columns& panel, int64_t depth, const Addend& addend, float* c,
                   int64_t c_stride) {
  const auto* const begin = reinterpret_cast<const __m256i*>(panel.beginning);
  __m256i low[kCount], high[kCount];
#pragma GCC unroll 6
  for (int r = 0; r < kCount; ++r) {
    low[r] = _mm256_loadu_si256(begin);
    high[r] = _mm256_loadu_si256(begin + 1);
  }
  const std::byte* const second = rows_at + 3 * row_stride;
  const int8_t* b = panel.values;
  for (int64_t at = 0; at < 2 * depth; at += 4) {
    const auto* const columns = reinterpret_cast<const __m128i*>(b);
    const __m256i b_low = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns));
    const __m256i b_high = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns + 1));
#pragma GCC unroll 6
    for (int r = 0; r < kCount; ++r) {
      int pair;
      std::memcpy(&pair, (r < 3 ? rows_at + r * row_stride : second + (r - 3) * row_stride) + at,
                  sizeof pair);
      const __m256i a = _mm256_set1_epi32(pair);
      low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(a, b_low));
      high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(a, b_high));
    }
    b += 2 * kColumns;
  }
  const __m256 low_scales = _mm256_loadu_ps(panel.scales);
  const __m256 high_scales = _mm256_loadu_ps(panel.scales + 8);
#pragma GCC unroll 6
  for (int r = 0; r < kCount; ++r) {
    const __m256 scale = _mm256_set1_ps(row_scales[r]);
    __m256 x = _mm256_setzero_ps(), y = _mm256_setzero_ps();
    if (addend.data != nullptr) {
      x = _mm256_loadu_ps(addend.data + r * addend.stride);
      y = _mm256_loadu_ps(addend.data + r * addend.stride + 8);
    }
    x = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low[r]), _mm256_mul_ps(scale, low_scales), x);
    y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high[r]), _mm256_mul_ps(scale, high_scales), y);
    _mm256_storeu_ps(c + r * c_stride, x);
    _mm256_storeu_ps(c + r * c_stride + 8, y);
  }
}

void multiply(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
              const Int8Columns& panel, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  using Rows = void (*)(const std::byte*, int64_t, const float*, const Int8Columns&, int64_t,
                        const Addend&, float*, int64_t);
  constexpr std::array<Rows, kRows> kByRows = {multiply_rows<1>, multiply_rows<2>,
                                               multiply_rows<3>, multiply_rows<4>,
                                               multiply_rows<5>, multiply_rows<6>};
  const Rows multiply_them = kByRows[static_cast<size_t>(rows - 1)];
  if (columns == kColumns) {
    return multiply_them(rows_at, row_stride, row_scales, panel, depth, addend, c, c_stride);
  }
  std::array<float, kRows * kColumns> edge{};
  for (int64_t r = 0; addend.data != nullptr && r < rows; ++r) {
    std::copy_n(addend.data + r * addend.stride, columns, edge.data() + r * kColumns);
  }
  multiply_them(rows_at, row_stride, row_scales, panel, depth, {edge.data(), kColumns}, edge.data(),
                kColumns);
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(edge.data() + r * kColumns, columns, c + r * c_stride);
  }
}

}  // namespace

const Int8Loops loops = {.name = "int8-avx2",
                         .instruction_set = "avx2",
                         .panel_rows = kRows,
                         .panel_columns = kColumns,
                         .group = 2,
                         .depth_multiple = kDepth,
                         .row_element_bytes = 2,
                         .quantize = quantize,
                         .multiply = multiply};

}  // namespace berth::int8_avx2
