#include "trainer/cpu/kernels/instruction_set.h"

#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"

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

}  // namespace berth
