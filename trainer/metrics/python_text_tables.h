#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

// What Python's str knows of characters beyond ASCII; sorted.

struct AlphanumericRange {
  char32_t first, last;
};
extern const AlphanumericRange kAlphanumericRanges[];
extern const size_t kAlphanumericRangeCount;

// Characters first, first + step, ..., last; each one's lower case is `difference` further on.
struct LowerCaseRun {
  char32_t first, last;
  uint8_t step;
  int32_t difference;
};
extern const LowerCaseRun kLowerCaseRuns[];
extern const size_t kLowerCaseRunCount;

}  // namespace berth
