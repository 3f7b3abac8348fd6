#pragma once

#include <array>
#include <cstdint>

namespace berth {

// Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four random
// words as a pure function of a counter and a key. There is no state, so any thread can produce any
// part of any stream, in any order, as often as it needs to.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// The low and the high half of a 64-bit number.
constexpr uint32_t low_word(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t high_word(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Derives a key from (seed, step, purpose). The whole counter is then free to number positions.
constexpr std::array<uint32_t, 2> philox_key(uint64_t seed, uint64_t step, uint32_t purpose) {
  const auto words =
      philox4x32({low_word(step), high_word(step), purpose, 0}, {low_word(seed), high_word(seed)});
  return {words[0], words[1]};
}

}  // namespace berth
