#pragma once

#include <cstdint>
#include <cstdlib>

namespace berth {

// The seed of a random series: what the variable BERTH_TEST_SEED says, or else 0, so that a series
// repeats itself. CI draws it anew for each run and prints it.
inline uint64_t drawn_seed() {
  const char* const seed = std::getenv("BERTH_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 0;
}

}  // namespace berth
