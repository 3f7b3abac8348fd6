#include "trainer/cpu/kernels/instruction_set.h"

#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace berth {

std::vector<const CpuLoops*> supported_loops() {
  std::vector<const CpuLoops*> supported;
#if defined(__x86_64__)
  // The same features as in trainer/CMakeLists.txt. The builtin also asks the operating system.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) supported.push_back(&avx512::loops);
  if (has_avx2) supported.push_back(&avx2::loops);
#endif
  supported.push_back(&baseline::loops);
  return supported;
}

const CpuLoops& pick_loops(std::string_view instruction_set) {
  std::string names;
  for (const CpuLoops* loops : supported_loops()) {
    if (instruction_set.empty() || instruction_set == loops->instruction_set) return *loops;
    names += cat(names.empty() ? "" : ", ", loops->instruction_set);
  }
  throw Error(Code::kUsage, cat("this CPU has no kernels for ", quoted(instruction_set)), "",
              cat("choose among ", names));
}

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
