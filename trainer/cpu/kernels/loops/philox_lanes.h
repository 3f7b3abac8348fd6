#pragma once

// Philox 4x32-10 (see philox.h) for several counters at a time, and the decisions of dropout that
// are made with it.

#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>  // its functions are always inlined, and so leave no symbols behind
#endif

#include "storage/base/shuffle.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth::BERTH_LOOPS {

// The low half of each 64-bit lane holds one 32-bit word of a counter. The high halves hold what
// the products left there, and nothing reads them.
#if defined(__AVX512F__)
typedef uint64_t Lanes __attribute__((vector_size(64)));
static inline Lanes multiply_low(Lanes a, Lanes b) {
  // The unmasked form makes GCC 12 warn about its own header. The mask keeps all lanes, and costs
  // nothing.
  return reinterpret_cast<Lanes>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
constexpr Lanes kFirst = {0, 1, 2, 3, 4, 5, 6, 7};
#define BERTH_INTERLEAVE_LOW(a, b) BERTH_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BERTH_INTERLEAVE_HIGH(a, b) BERTH_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif defined(__AVX2__)
typedef uint64_t Lanes __attribute__((vector_size(32)));
static inline Lanes multiply_low(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
constexpr Lanes kFirst = {0, 1, 2, 3};
#define BERTH_INTERLEAVE_LOW(a, b) BERTH_SHUFFLE(a, b, 0, 4, 1, 5)
#define BERTH_INTERLEAVE_HIGH(a, b) BERTH_SHUFFLE(a, b, 2, 6, 3, 7)
#else
typedef uint64_t Lanes __attribute__((vector_size(16)));
static inline Lanes multiply_low(Lanes a, Lanes b) {
#if defined(__x86_64__)
  return reinterpret_cast<Lanes>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}
constexpr Lanes kFirst = {0, 1};
#define BERTH_INTERLEAVE_LOW(a, b) BERTH_SHUFFLE(a, b, 0, 2)
#define BERTH_INTERLEAVE_HIGH(a, b) BERTH_SHUFFLE(a, b, 1, 3)
#endif

// Two vectors of counters are handled together: a single one would wait for its multiplications.
constexpr int64_t kLanes = sizeof(Lanes) / sizeof(uint64_t);
constexpr int64_t kDraws =
    2 * kLanes * 8;  // decisions that are made together, eight from each counter

struct PhiloxLanes {
  Lanes c0, c1, c2, c3;

  void round(Lanes key0, Lanes key1) {
    const Lanes product0 = multiply_low(c0, Lanes{} + 0xD2511F53u);
    const Lanes product1 = multiply_low(c2, Lanes{} + 0xCD9E8D57u);
    c0 = (product1 >> 32) ^ c1 ^ key0;
    c1 = product1;
    c2 = (product0 >> 32) ^ c3 ^ key1;
    c3 = product0;
  }
  // Stores the four words of each counter, one counter after the other.
  void store(uint16_t* draws) const {
    const Lanes first = (c0 & 0xFFFFFFFFu) | (c1 << 32);
    const Lanes second = (c2 & 0xFFFFFFFFu) | (c3 << 32);
    const Lanes low = BERTH_INTERLEAVE_LOW(first, second);
    const Lanes high = BERTH_INTERLEAVE_HIGH(first, second);
    __builtin_memcpy(draws, &low, sizeof(low));
    __builtin_memcpy(draws + 4 * kLanes, &high, sizeof(high));
  }
};

// The number of a row.
static inline uint64_t counter_of(const DropoutDraw& draw, int64_t row) {
  return draw.first_row + static_cast<uint64_t>(draw.tokens ? draw.tokens[row] : row);
}

// Writes factors[i] = draw.scale, or 0 where element 8 * block + i of the row is dropped. Element i
// of a row is decided by the Philox counter (i / 8, stream, counter), by half i % 2 of word
// i % 8 / 2.
static inline void draw_factors(const DropoutDraw& draw, uint64_t counter, uint32_t stream,
                                uint32_t block, float* factors) {
  PhiloxLanes a{kFirst + block, Lanes{} + stream, Lanes{} + counter, Lanes{} + (counter >> 32)};
  PhiloxLanes b = a;
  b.c0 += static_cast<uint64_t>(kLanes);
  uint32_t key0 = draw.key[0], key1 = draw.key[1];
  for (int round = 0; round < 10; ++round) {
    a.round(Lanes{} + key0, Lanes{} + key1);
    b.round(Lanes{} + key0, Lanes{} + key1);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  uint16_t draws[kDraws];
  a.store(draws);
  b.store(draws + kDraws / 2);
  const auto threshold = static_cast<int32_t>(draw.threshold);
  const float scale = draw.scale;
#pragma omp simd
  for (int64_t i = 0; i < kDraws; ++i) {
    factors[i] = static_cast<int32_t>(draws[i]) < threshold ? 0.0f : scale;
  }
}

}  // namespace berth::BERTH_LOOPS
