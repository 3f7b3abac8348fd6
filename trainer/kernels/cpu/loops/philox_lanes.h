#pragma once

// Philox 4x32-10 (philox.h) for several counters at a time, and dropout decisions made of it.

#include <cstdint>

#include "trainer/kernels/cpu/loops.h"

namespace berth::BERTH_LOOPS {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#else
constexpr int64_t kLanes = 8;
#endif
// Decisions made at once: eight 16-bit draws from each counter.
constexpr int64_t kDraws = kLanes * 8;

// factors[i] = draw->scale, or 0 where element 8 * block + i of the row is dropped. Element i of a
// row comes from the Philox counter (i / 8, stream, counter): half i % 2 of word i % 8 / 2.
static inline void draw_factors(const DropoutDraw& draw, uint64_t counter, uint32_t stream,
                                uint32_t block, float* factors) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    c0[i] = block + static_cast<uint32_t>(i);
    c1[i] = stream;
    c2[i] = static_cast<uint32_t>(counter);
    c3[i] = static_cast<uint32_t>(counter >> 32);
  }
  uint32_t key0 = draw.key[0], key1 = draw.key[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int64_t i = 0; i < kLanes; ++i) {
      const uint64_t product0 = uint64_t{0xD2511F53u} * c0[i];
      const uint64_t product1 = uint64_t{0xCD9E8D57u} * c2[i];
      const uint32_t high0 = static_cast<uint32_t>(product0 >> 32);
      const uint32_t high1 = static_cast<uint32_t>(product1 >> 32);
      c0[i] = high1 ^ c1[i] ^ key0;
      c1[i] = static_cast<uint32_t>(product1);
      c2[i] = high0 ^ c3[i] ^ key1;
      c3[i] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  uint32_t words[4 * kLanes];
#pragma omp simd
  for (int64_t i = 0; i < kLanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
  const uint32_t threshold = draw.threshold;
  const float scale = draw.scale;
#pragma omp simd
  for (int64_t i = 0; i < 4 * kLanes; ++i) {
    factors[2 * i] = (words[i] & 0xFFFFu) < threshold ? 0.0f : scale;
    factors[2 * i + 1] = (words[i] >> 16) < threshold ? 0.0f : scale;
  }
}

}  // namespace berth::BERTH_LOOPS
