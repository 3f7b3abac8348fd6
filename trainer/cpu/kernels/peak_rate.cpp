#include "trainer/cpu/kernels/peak_rate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "storage/base/clock.h"
#include "trainer/cpu/kernels/bf16/bf16_loops.h"

namespace berth {
namespace {

// A run takes about half a millisecond, so that most of them are not interrupted on a busy machine.
constexpr int64_t kRounds = 200'000;
constexpr int kRuns = 20;

struct Loop {
  void (*run)() = nullptr;
  double flops = 0;  // in all of its rounds
};

#if defined(__x86_64__)

// Fourteen independent sums keep two units with a latency of four to six cycles busy.
// clang-format off
#define BERTH_SUMS(op, r) \
  op " %%" r "14, %%" r "15, %%" r "0\n"  op " %%" r "14, %%" r "15, %%" r "1\n" \
  op " %%" r "14, %%" r "15, %%" r "2\n"  op " %%" r "14, %%" r "15, %%" r "3\n" \
  op " %%" r "14, %%" r "15, %%" r "4\n"  op " %%" r "14, %%" r "15, %%" r "5\n" \
  op " %%" r "14, %%" r "15, %%" r "6\n"  op " %%" r "14, %%" r "15, %%" r "7\n" \
  op " %%" r "14, %%" r "15, %%" r "8\n"  op " %%" r "14, %%" r "15, %%" r "9\n" \
  op " %%" r "14, %%" r "15, %%" r "10\n" op " %%" r "14, %%" r "15, %%" r "11\n" \
  op " %%" r "14, %%" r "15, %%" r "12\n" op " %%" r "14, %%" r "15, %%" r "13\n"
#define BERTH_LOOP(op, r)                                                                       \
  int64_t rounds = kRounds;                                                                     \
  asm volatile("vzeroall\n1:\n" BERTH_SUMS(op, r) "dec %0\njnz 1b\nvzeroupper\n"                \
               : "+r"(rounds)                                                                   \
               :                                                                                \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

void bf16_avx512() { BERTH_LOOP("vdpbf16ps", "zmm"); }
void fp32_avx512() { BERTH_LOOP("vfmadd231ps", "zmm"); }
void fp32_avx2() { BERTH_LOOP("vfmadd231ps", "ymm"); }

// Four independent 16 x 16 sums of products of 16 x 32 and 32 x 16 matrices.
void bf16_amx_tiles() {
  bf16_amx::loops.begin();
  for (int64_t round = 0; round < kRounds; ++round) {
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n"
        "tdpbf16ps %tmm7, %tmm4, %tmm1\n"
        "tdpbf16ps %tmm6, %tmm5, %tmm2\n"
        "tdpbf16ps %tmm7, %tmm5, %tmm3\n");
  }
  bf16_amx::loops.end();
}

Loop loop_for(bool bf16) {
  constexpr double kSums = 14.0 * kRounds, kTiles = 4.0 * kRounds;
  if (bf16) {
    const auto native = native_bf16_loops();
    if (native.empty()) return {};
    if (native.front() == &bf16_amx::loops) return {bf16_amx_tiles, kTiles * 2 * 16 * 16 * 32};
    return {bf16_avx512, kSums * 64};
  }
  if (__builtin_cpu_supports("avx512f")) return {fp32_avx512, kSums * 32};
  if (__builtin_cpu_supports("fma")) return {fp32_avx2, kSums * 16};
  return {};
}

#elif defined(__aarch64__)

void fp32_neon() {
  int64_t rounds = kRounds;
  // clang-format off
#define BERTH_SUM(n) "fmla v" #n ".4s, v30.4s, v31.4s\n"
  asm volatile(
      "movi v30.4s, #0\nmovi v31.4s, #0\n1:\n"
      BERTH_SUM(0) BERTH_SUM(1) BERTH_SUM(2) BERTH_SUM(3) BERTH_SUM(4) BERTH_SUM(5) BERTH_SUM(6)
      BERTH_SUM(7) BERTH_SUM(16) BERTH_SUM(17) BERTH_SUM(18) BERTH_SUM(19) BERTH_SUM(20)
      BERTH_SUM(21)
      "subs %0, %0, #1\nb.ne 1b\n"
      : "+r"(rounds)
      :
      : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
        "v21", "v30", "v31");
#undef BERTH_SUM
  // clang-format on
}

Loop loop_for(bool bf16) {
  if (bf16) return {};
  return {fp32_neon, 14.0 * kRounds * 8};
}

#else

Loop loop_for(bool) { return {}; }

#endif

}  // namespace

double peak_rate(ThreadPool& pool, bool bf16) {
  const Loop loop = loop_for(bf16);
  if (loop.run == nullptr) return 0;
  std::vector<double> rates(static_cast<size_t>(pool.size()));
  pool.parallel_for(pool.size(), 1, [&](int64_t, int64_t, int thread) {
    std::array<double, kRuns> seconds;
    for (double& run_s : seconds) {
      const double began_s = steady_clock_s();
      loop.run();
      run_s = steady_clock_s() - began_s;
    }
    // The fastest runs may have had the core before the others' threads began.
    const auto fast = seconds.begin() + kRuns / 4;
    std::nth_element(seconds.begin(), fast, seconds.end());
    rates[static_cast<size_t>(thread)] = loop.flops / *fast;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace berth
