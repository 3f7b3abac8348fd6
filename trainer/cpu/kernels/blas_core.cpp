#include <cstdlib>
#include <string_view>

#include "trainer/cpu/kernels/gemm.h"

// NOLINTBEGIN(readability-identifier-naming): names of OpenBLAS. Its library has the second and the
// third only where it was built to choose its kernels when the program starts.
extern "C" {
char* openblas_get_corename();
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}
// NOLINTEND(readability-identifier-naming)

namespace berth {
namespace {

// The core whose kernels use the widest instructions of this CPU, or null below AVX2.
const char* widest_core() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// OpenBLAS knows CPUs by their model numbers. One that is newer than the library gets "Prescott",
// which has SSE3 alone: in fp32, BERT-base trained six times slower on a Xeon with AVX-512 than it
// does with the core for AVX-512. The choice is therefore made again for such a CPU, by its
// instructions. This runs before OpenBLAS starts, because a constructor with a priority comes
// before those without. A core that the user names in OPENBLAS_CORETYPE stays.
[[gnu::constructor(101)]] void choose_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  const char* const core = widest_core();
  if (core == nullptr || gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) {
    return;
  }
  gotoblas_dynamic_init();
  if (std::string_view(openblas_get_corename()) != "Prescott") return;
  gotoblas_dynamic_quit();
  ::setenv("OPENBLAS_CORETYPE", core, 0);
  gotoblas_dynamic_init();
}

}  // namespace

std::string blas_core() { return openblas_get_corename(); }

}  // namespace berth
