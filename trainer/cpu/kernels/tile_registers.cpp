#include "trainer/cpu/kernels/tile_registers.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace berth {

#if defined(__x86_64__)

namespace {

bool has_instructions(TileNumbers numbers) {
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;  // of EDX
  const unsigned wanted = kAmxTile | (numbers == TileNumbers::kBf16 ? kAmxBf16 : kAmxInt8);
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & wanted) == wanted;
}

// A process must ask, because the tiles take 8 KiB for each thread
// (Documentation/arch/x86/xstate.rst in the sources of Linux).
bool is_permitted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_tile_registers(TileNumbers numbers) { return has_instructions(numbers) && is_permitted(); }

#else

bool has_tile_registers(TileNumbers) { return false; }

#endif

}  // namespace berth
