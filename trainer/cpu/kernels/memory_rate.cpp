#include "trainer/cpu/kernels/memory_rate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <string_view>

#include "storage/base/clock.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kStride = 512;                      // bytes that a round of a loop moves
constexpr uint64_t kMostMemory = uint64_t{1} << 28;  // of all threads
constexpr uint64_t kBytesOfARun = uint64_t{1} << 24;
constexpr int kRepetitions = 8;

// They move all bytes between two addresses, whose distance is a multiple of kStride.
struct Mover {
  void (*read)(const std::byte* begin, const std::byte* end) = nullptr;
  void (*write)(std::byte* begin, std::byte* end) = nullptr;
};

#if defined(__x86_64__)

// clang-format off
#define BERTH_LOADS(r, n) \
  "vmovups (%0), %%" r "0\n"          "vmovups " n "(%0), %%" r "1\n" \
  "vmovups 2*" n "(%0), %%" r "2\n"   "vmovups 3*" n "(%0), %%" r "3\n" \
  "vmovups 4*" n "(%0), %%" r "4\n"   "vmovups 5*" n "(%0), %%" r "5\n" \
  "vmovups 6*" n "(%0), %%" r "6\n"   "vmovups 7*" n "(%0), %%" r "7\n" \
  "add $8*" n ", %0\n"
#define BERTH_STORES(r, n) \
  "vmovups %%" r "0, (%0)\n"          "vmovups %%" r "0, " n "(%0)\n" \
  "vmovups %%" r "0, 2*" n "(%0)\n"   "vmovups %%" r "0, 3*" n "(%0)\n" \
  "vmovups %%" r "0, 4*" n "(%0)\n"   "vmovups %%" r "0, 5*" n "(%0)\n" \
  "vmovups %%" r "0, 6*" n "(%0)\n"   "vmovups %%" r "0, 7*" n "(%0)\n" \
  "add $8*" n ", %0\n"
#define BERTH_MOVE(body)                                                                        \
  asm volatile("vzeroall\n1:\n" body "cmp %1, %0\njb 1b\nvzeroupper\n"                          \
               : "+r"(begin)                                                                    \
               : "r"(end)                                                                       \
               : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

void read_512(const std::byte* begin, const std::byte* end) {
  BERTH_MOVE(BERTH_LOADS("zmm", "64"));
}
void write_512(std::byte* begin, std::byte* end) { BERTH_MOVE(BERTH_STORES("zmm", "64")); }
void read_256(const std::byte* begin, const std::byte* end) {
  BERTH_MOVE(BERTH_LOADS("ymm", "32"));
}
void write_256(std::byte* begin, std::byte* end) { BERTH_MOVE(BERTH_STORES("ymm", "32")); }

Mover mover() {
  if (__builtin_cpu_supports("avx512f")) return {read_512, write_512};
  if (__builtin_cpu_supports("avx2")) return {read_256, write_256};
  return {};
}

#elif defined(__aarch64__)

// clang-format off
#define BERTH_LOAD(a, b, at) "ldp q" #a ", q" #b ", [%0, #" #at "]\n"
#define BERTH_STORE(at) "stp q0, q0, [%0, #" #at "]\n"
#define BERTH_MOVE(body) \
  asm volatile("movi v0.4s, #0\n1:\n" body "add %0, %0, #128\ncmp %0, %1\nb.lo 1b\n" \
               : "+r"(begin) : "r"(end) : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7")
// clang-format on

void read_neon(const std::byte* begin, const std::byte* end) {
  BERTH_MOVE(BERTH_LOAD(0, 1, 0) BERTH_LOAD(2, 3, 32) BERTH_LOAD(4, 5, 64) BERTH_LOAD(6, 7, 96));
}

void write_neon(std::byte* begin, std::byte* end) {
  BERTH_MOVE(BERTH_STORE(0) BERTH_STORE(32) BERTH_STORE(64) BERTH_STORE(96));
}

Mover mover() { return {read_neon, write_neon}; }

#else

Mover mover() { return {}; }

#endif

// Linux describes each cache of a CPU in a folder of small files.
std::string line_of(int index, const char* file) {
  std::ifstream in(cat("/sys/devices/system/cpu/cpu0/cache/index", index, "/", file));
  std::string line;
  std::getline(in, line);
  return line;
}

// "0-3,8" holds five CPUs.
int64_t count_of_list(std::string_view list) {
  int64_t count = 0;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const size_t dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_number(part.substr(dash + 1));
    if (first && last && *last >= *first) count += static_cast<int64_t>(*last - *first) + 1;
  }
  return std::max<int64_t>(count, 1);
}

// The caches of data that `threads` threads have, one thread a CPU. Rates are not measured yet.
std::vector<MemoryLevel> caches(int64_t threads) {
  std::vector<MemoryLevel> levels;
  for (int index = 0; index < 16; ++index) {
    const std::string type = line_of(index, "type"), size = line_of(index, "size");
    if (type.empty()) break;
    if (type == "Instruction" || !size.ends_with('K')) continue;
    const auto kib = parse_number(std::string_view(size).substr(0, size.size() - 1));
    if (!kib || *kib == 0 || *kib >= uint64_t{1} << 30) continue;
    const int64_t shared = count_of_list(line_of(index, "shared_cpu_list"));
    const int64_t caches = (threads + shared - 1) / shared;
    levels.push_back({.name = cat("L", line_of(index, "level")),
                      .size_bytes = *kib * 1024 * static_cast<uint64_t>(caches)});
  }
  return levels;
}

// The rate of all threads together: each repeats `run`, which moves `bytes`.
template <typename Run>
double rate_of(ThreadPool& pool, double bytes, const Run& run) {
  std::vector<double> rates(static_cast<size_t>(pool.size()));
  pool.parallel_for(pool.size(), 1, [&](int64_t, int64_t, int thread) {
    std::array<double, kRepetitions> seconds;
    run(thread);  // brings the bytes into the level
    for (double& run_s : seconds) {
      const double began_s = steady_clock_s();
      run(thread);
      run_s = steady_clock_s() - began_s;
    }
    const auto fast = seconds.begin() + kRepetitions / 4;
    std::nth_element(seconds.begin(), fast, seconds.end());
    rates[static_cast<size_t>(thread)] = bytes / *fast;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

struct Freed {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{4096}); }
};
using PageBuffer = std::unique_ptr<std::byte[], Freed>;

void measure_level(MemoryLevel& level, uint64_t bytes_of_a_thread, const Mover& move,
                   ThreadPool& pool) {
  const size_t size = static_cast<size_t>(bytes_of_a_thread) / kStride * kStride;
  if (size == 0) return;
  const uint64_t rounds = std::max<uint64_t>(1, kBytesOfARun / size);
  std::vector<PageBuffer> buffers;
  for (int thread = 0; thread < pool.size(); ++thread) {
    buffers.emplace_back(new (std::align_val_t{4096}) std::byte[size]);
  }
  const auto repeat = [&](int thread, const auto& loop) {
    std::byte* const begin = buffers[static_cast<size_t>(thread)].get();
    for (uint64_t round = 0; round < rounds; ++round) loop(begin, begin + size);
  };
  const double bytes = static_cast<double>(size) * static_cast<double>(rounds);
  // Writing comes first: memory that was never written is one page of zeros.
  level.written_bytes_per_s = rate_of(pool, bytes, [&](int i) { repeat(i, move.write); });
  level.read_bytes_per_s = rate_of(pool, bytes, [&](int i) { repeat(i, move.read); });
}

}  // namespace

std::vector<MemoryLevel> measure_memory_levels(ThreadPool& pool) {
  const Mover move = mover();
  const auto threads = static_cast<uint64_t>(pool.size());
  std::vector<MemoryLevel> levels = caches(pool.size());
  if (move.read == nullptr || levels.empty()) return {};
  const uint64_t largest = levels.back().size_bytes;
  // Half of a cache surely stays in it.
  for (MemoryLevel& level : levels) {
    measure_level(level, std::min(level.size_bytes / 2, kMostMemory) / threads, move, pool);
  }
  if (largest <= kMostMemory / 2) {
    levels.push_back({.name = "DRAM", .size_bytes = std::numeric_limits<uint64_t>::max()});
    measure_level(levels.back(), std::min(4 * largest, kMostMemory) / threads, move, pool);
  }
  std::erase_if(levels, [](const MemoryLevel& level) { return level.read_bytes_per_s <= 0; });
  return levels;
}

}  // namespace berth
