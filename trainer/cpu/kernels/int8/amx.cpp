// This file is compiled with AVX512 and contains instructions of AMX_INT8. It runs only where
// supported_int8_loops() found both.
#include <immintrin.h>

#include "trainer/cpu/kernels/amx_tiles.h"
#include "trainer/cpu/kernels/int8/int8_sums.h"

namespace berth::int8_amx {
namespace {

constexpr int64_t kSide = 16, kRows = 2 * kSide, kColumns = 2 * kSide, kDepth = 64;

struct Amx : AmxTiles {
  // C [16,16] of int32 += A [16,64] * B [64,16], whose columns lie four depths beside four depths.
  template <int kC, int kA, int kB>
  static void dot() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
  }
};

float quantize(const float* x, int64_t depth, std::byte* row) {
  return quantize_with(x, depth, loops.padded(depth), [row](__m512i numbers, int64_t d) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row + d), _mm512_cvtepi32_epi8(numbers));
  });
}

// 2 x 2 tiles of sums. Rows beyond `rows` are multiplied too, and their sums are dropped.
void multiply(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
              const Int8Columns& panel, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  constexpr size_t kColumnStride = 4 * kColumns;
  const auto stride = static_cast<size_t>(row_stride);
  Amx::zero<0>();
  Amx::zero<1>();
  Amx::zero<2>();
  Amx::zero<3>();
  const std::byte* a = rows_at;
  const int8_t* b = panel.values;
  // Tiles:  0 1   +=   4   *  6 7
  //         2 3        5
  for (int64_t d = 0; d < depth; d += kDepth) {
    Amx::load<4>(a, stride);
    Amx::load<6>(b, kColumnStride);
    Amx::dot<0, 4, 6>();
    Amx::load<7>(b + 4 * kSide, kColumnStride);
    Amx::dot<1, 4, 7>();
    Amx::load<5>(a + kSide * row_stride, stride);
    Amx::dot<2, 5, 6>();
    Amx::dot<3, 5, 7>();
    a += kDepth;
    b += kDepth * kColumns;
  }
  alignas(64) int32_t sums[kRows * kColumns];
  constexpr size_t kSumStride = kColumns * sizeof(int32_t);
  Amx::store<0>(sums, kSumStride);
  Amx::store<1>(sums + kSide, kSumStride);
  Amx::store<2>(sums + kSide * kColumns, kSumStride);
  Amx::store<3>(sums + kSide * kColumns + kSide, kSumStride);
  // c = addend + sums * (the row's scale * the column's scale).
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t first = 0; first < columns; first += kSide) {
      const float* const added = addend.data ? addend.data + r * addend.stride + first : nullptr;
      const __m512 scales =
          _mm512_mul_ps(_mm512_set1_ps(row_scales[r]), _mm512_loadu_ps(panel.scales + first));
      store_sums(_mm512_load_si512(sums + r * kColumns + first), scales,
                 lanes_below(columns - first), added, c + r * c_stride + first);
    }
  }
}

}  // namespace

const Int8Loops loops = {.name = "int8-amx",
                         .instruction_set = "amx",
                         .panel_rows = kRows,
                         .panel_columns = kColumns,
                         .group = 4,
                         .depth_multiple = kDepth,
                         .row_element_bytes = 1,
                         .quantize = quantize,
                         .multiply = multiply,
                         .begin = begin_amx,
                         .end = end_amx};

}  // namespace berth::int8_amx
