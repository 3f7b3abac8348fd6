#include "trainer/corpus/minhash.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "trainer/corpus/text_hash.h"

namespace berth {
namespace {

constexpr size_t kWordsInShingle = 5;
constexpr size_t kPermutations = std::tuple_size_v<MinHash>;
using Lanes = std::array<uint32_t, kPermutations>;

// minima[i] = the least value of factors[i] * x + summands[i] over the shingles x.
void find_minima(std::span<const uint32_t> shingles, const Lanes& factors, const Lanes& summands,
                 Lanes& minima) {
  minima.fill(UINT32_MAX);
  for (const uint32_t shingle : shingles) {
    for (size_t i = 0; i < kPermutations; ++i) {
      minima[i] = std::min(minima[i], factors[i] * shingle + summands[i]);
    }
  }
}

#if defined(__x86_64__)

// The same with four registers of eight permutations at a time.
__attribute__((target("avx2"))) void find_minima_avx2(std::span<const uint32_t> shingles,
                                                      const Lanes& factors, const Lanes& summands,
                                                      Lanes& minima) {
  constexpr size_t kLanes = 8, kRegisters = 4;
  for (size_t first = 0; first < kPermutations; first += kLanes * kRegisters) {
    __m256i factor[kRegisters], summand[kRegisters], least[kRegisters];
    for (size_t r = 0; r < kRegisters; ++r) {
      const size_t at = first + r * kLanes;
      factor[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&factors[at]));
      summand[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&summands[at]));
      least[r] = _mm256_set1_epi32(-1);
    }
    for (const uint32_t shingle : shingles) {
      const __m256i x = _mm256_set1_epi32(static_cast<int>(shingle));
      for (size_t r = 0; r < kRegisters; ++r) {
        const __m256i value = _mm256_add_epi32(_mm256_mullo_epi32(factor[r], x), summand[r]);
        least[r] = _mm256_min_epu32(least[r], value);
      }
    }
    for (size_t r = 0; r < kRegisters; ++r) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(&minima[first + r * kLanes]), least[r]);
    }
  }
}

#endif

using FindMinima = void (*)(std::span<const uint32_t>, const Lanes&, const Lanes&, Lanes&);

FindMinima fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return find_minima_avx2;
#endif
  return find_minima;
}

}  // namespace

MinHasher::MinHasher() {
  uint64_t seed = 0;
  for (size_t i = 0; i < kPermutations; ++i) {
    factors_[i] = static_cast<uint32_t>(mixed(++seed * 0x9E3779B97F4A7C15)) | 1;
    summands_[i] = static_cast<uint32_t>(mixed(++seed * 0x9E3779B97F4A7C15));
  }
}

MinHash MinHasher::of(std::span<const Word> words) {
  static const FindMinima find = fastest();
  shingles_.clear();
  const size_t n = std::min(kWordsInShingle, words.size());
  for (size_t first = 0; first + n <= words.size(); ++first) {
    uint64_t hash = 0;
    for (const Word& word : words.subspan(first, n)) {
      hash = (std::rotl(hash, 23) ^ word.hash) * 0x9FB21C651E98DF25;
    }
    shingles_.push_back(static_cast<uint32_t>(mixed(hash)));
  }
  Lanes minima;
  find(shingles_, factors_, summands_, minima);
  MinHash sketch;
  for (size_t i = 0; i < kPermutations; ++i) {
    sketch[i] = static_cast<uint8_t>((minima[i] * 0x9E3779B1u) >> 24);
  }
  return sketch;
}

double similarity(const MinHash& a, const MinHash& b) {
  int equal = 0;
  for (size_t i = 0; i < kPermutations; ++i) equal += a[i] == b[i];
  constexpr double kByChance = 1.0 / 256;  // two different hashes have the same 8 bits
  const double share = static_cast<double>(equal) / kPermutations;
  return std::max(0.0, (share - kByChance) / (1 - kByChance));
}

}  // namespace berth
