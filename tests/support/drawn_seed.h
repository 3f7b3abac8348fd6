#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace berth {

// The seed of a random series: what the variable BERTH_TEST_SEED says, or else 0, so that a series
// repeats itself. CI draws it anew for each run and prints it.
inline uint64_t drawn_seed() {
  const char* const seed = std::getenv("BERTH_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 0;
}

// Where every place of many files would take minutes, a test takes each kDrawnStride-th place, from
// first_drawn() on.
inline constexpr size_t kDrawnStride = 6;
inline size_t first_drawn() { return drawn_seed() % kDrawnStride; }

}  // namespace berth
