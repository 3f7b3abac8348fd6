#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace berth {

// While one lives, this thread's vector arithmetic takes denormal numbers for zero: Adam's first
// moment of a row that gets no gradient decays into them and would stay there, at a hundred times
// the cost of an ordinary number on some CPUs.
class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) { set_control(before_ | kFlush); }
  ~FlushDenormals() { set_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr uint64_t kFlush = 0x8040;  // MXCSR's FTZ and DAZ
  static uint64_t control() { return _mm_getcsr(); }
  static void set_control(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR's FZ
  static uint64_t control() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t control() { return 0; }
  static void set_control(uint64_t) {}
#endif

  const uint64_t before_;
};

}  // namespace berth
