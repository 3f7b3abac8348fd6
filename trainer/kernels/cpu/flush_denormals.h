#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace berth {

// While one lives, this thread's vector arithmetic takes denormal numbers for zero: Adam's first
// moment of a row that gets no gradient decays into them and would stay there, at a hundred times
// the cost of an ordinary number on some CPUs.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // FTZ | DAZ
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  unsigned before_;
#endif
};

}  // namespace berth
