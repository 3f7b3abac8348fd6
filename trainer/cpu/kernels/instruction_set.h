#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/cpu/kernels/loops.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace berth {

// The loops compiled for the instruction sets that this CPU has, best first; never empty.
std::vector<const CpuLoops*> supported_loops();

// The best of them, or the one that is named. Throws kUsage when this CPU or this build lacks it.
const CpuLoops& pick_loops(std::string_view instruction_set);

// The numbers that AMX multiplies.
enum class TileNumbers { kBf16, kInt8 };

// Whether this CPU has AMX with products of these numbers, and Linux permits this process to use
// it. AMX has registers that hold a matrix of 16 rows of 64 bytes. Asks Linux for the permission.
bool has_tile_registers(TileNumbers numbers);

// While an object of this class lives, vector arithmetic on its thread takes denormal numbers for
// zero. If a row gets no gradient, its first moment in Adam decays to denormal numbers and stays
// there. On some CPUs, denormal numbers cost a hundred times as much as other numbers.
class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) { set_control(before_ | kFlush); }
  ~FlushDenormals() { set_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr uint64_t kFlush = 0x8040;  // FTZ and DAZ of MXCSR
  static uint64_t control() { return _mm_getcsr(); }
  static void set_control(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ of FPCR
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
