// This file is compiled with AVX2. It runs only where supported_int8_loops() found that.
//
// AVX2 multiplies unsigned bytes by signed ones and adds pairs of products in int16 (vpmaddubsw).
// The numbers of rows are made unsigned by adding 128, and the numbers of columns have seven bits.
// So a pair's sum is at most 2 * 255 * 64 = 32,640, which fits int16, and no sum has an error. On
// Zen 3 these loops are 1.22 times as fast as products of int16 (vpmaddwd), which allow eight bits.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "trainer/cpu/kernels/int8/int8_loops.h"

namespace berth::int8_avx2 {
namespace {

constexpr int64_t kRows = 6, kColumns = 16, kDepth = 16;  // 6 x 16 sums take 12 of 16 registers
constexpr int64_t kGroup = 4;

__m256i absolute_bits(__m256 x) {
  return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
}

// The largest |x|, or something that is not finite if one of x is not: the bits of positive floats
// have the same order as the numbers. Infinity and then NaN follow.
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

// Sixteen numbers plus 128. Packing works in halves of a vector, so they are put in order again.
__m128i sixteen_of(const float* x, __m256 factor) {
  const __m256i packed = _mm256_packs_epi32(numbers_of(x, factor), numbers_of(x + 8, factor));
  const __m256i ordered = _mm256_permute4x64_epi64(packed, 0b11'01'10'00);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
  return _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(0x80)));  // adds 128
}

float quantize(const float* x, int64_t depth, std::byte* row) {
  const float largest = largest_of(x, depth);
  const __m256 factor = _mm256_set1_ps(int8_factor(largest));
  auto* to = reinterpret_cast<__m128i*>(row);
  int64_t d = 0;
  for (; d + kDepth <= depth; d += kDepth) _mm_storeu_si128(to++, sixteen_of(x + d, factor));
  if (d < depth) {
    std::array<float, kDepth> rest{};
    std::copy(x + d, x + depth, rest.begin());
    _mm_storeu_si128(to, sixteen_of(rest.data(), factor));
  }
  return largest / kLargestInt8;
}

// Adds the products of a row's four numbers, which each lane of `a` holds, and the four numbers of
// eight columns.
__m256i add_products(__m256i sums, __m256i a, __m256i columns) {
  const __m256i pairs = _mm256_maddubs_epi16(a, columns);
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
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
  // C [kCount,16] += A [kCount,4] B [4,16], four depths at a time.
  const std::byte* const second = rows_at + 3 * row_stride;
  const auto* b = reinterpret_cast<const __m256i*>(panel.values);
  for (int64_t d = 0; d < depth; d += kGroup) {
#pragma GCC unroll 6
    for (int r = 0; r < kCount; ++r) {
      int four;
      std::memcpy(&four, (r < 3 ? rows_at + r * row_stride : second + (r - 3) * row_stride) + d,
                  sizeof four);
      const __m256i a = _mm256_set1_epi32(four);
      low[r] = add_products(low[r], a, _mm256_loadu_si256(b));
      high[r] = add_products(high[r], a, _mm256_loadu_si256(b + 1));
    }
    b += 2;
  }
  // c = addend + sums * (the row's scale * the column's scale).
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
                         .group = kGroup,
                         .depth_multiple = kDepth,
                         .row_element_bytes = 1,
                         .largest_column = 64,
                         .row_offset = 128,
                         .quantize = quantize,
                         .multiply = multiply};

}  // namespace berth::int8_avx2
