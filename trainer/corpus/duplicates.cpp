#include "trainer/corpus/duplicates.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth {
namespace {

constexpr uint64_t kLow = 0x9E3779B97F4A7C15, kHigh = 0xC2B2AE3D27D4EB4F;

uint64_t load(const char* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

}  // namespace

// Two lanes of multiplications, each a permutation of the lane's state for a given word.
TextHash hash_text(std::string_view text) {
  uint64_t low = kLow ^ text.size(), high = kHigh + text.size();
  const auto add = [&](uint64_t word) {
    low = std::rotl(low ^ (word * kHigh), 29) * 5 + kLow;
    high = (std::rotl(high, 27) + word) * kLow;
  };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) add(load(text.data() + at, 8));
  if (at < text.size()) add(load(text.data() + at, text.size() - at));
  return {mixed(low + std::rotl(high, 32)), mixed(high ^ std::rotl(low, 17))};
}

size_t TextHashSet::place_of(TextHash hash) const {
  const size_t mask = slots_.size() - 1;
  size_t place = hash.low & mask;
  while (slots_[place] != TextHash() && slots_[place] != hash) place = (place + 1) & mask;
  return place;
}

void TextHashSet::grow() {
  std::vector<TextHash> old(slots_.empty() ? 64 : slots_.size() * 2);
  old.swap(slots_);
  for (const TextHash hash : old) {
    if (hash != TextHash()) slots_[place_of(hash)] = hash;
  }
}

bool TextHashSet::insert(TextHash hash) {
  if (hash == TextHash()) hash.low = 1;
  if (4 * (count_ + 1) > 3 * slots_.size()) grow();
  TextHash& slot = slots_[place_of(hash)];
  if (slot == hash) return false;
  slot = hash;
  ++count_;
  return true;
}

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

namespace {

uint64_t key_of(const MinHash& sketch, size_t band) {
  uint64_t key;
  std::memcpy(&key, sketch.data() + band * NearDuplicateIndex::kRows, sizeof key);
  return key;
}

}  // namespace

static_assert(NearDuplicateIndex::kBands * NearDuplicateIndex::kRows == std::tuple_size_v<MinHash>);

size_t NearDuplicateIndex::memory_bytes() const {
  return chunks_.size() * sizeof(Chunk) + kBands * tables_[0].size() * sizeof(uint32_t);
}

void NearDuplicateIndex::append(const MinHash& sketch) {
  if (count_ == kMostTexts) {
    throw Error(Code::kBadData, cat("has more than ", kMostTexts, " different texts"), "",
                "clean it in parts, or give --near-duplicate-threshold 0");
  }
  if (count_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
  (*chunks_.back())[count_ % kChunk] = sketch;
  ++count_;
}

void NearDuplicateIndex::insert(size_t band, uint32_t index) {
  std::vector<uint32_t>& table = tables_[band];
  const size_t mask = table.size() - 1;
  size_t place = mixed(key_of(sketch(index), band)) & mask;
  while (table[place] != 0) place = (place + 1) & mask;
  table[place] = index + 1;
}

// Doubles the tables. The texts of each band keep their order, so that what is found does not
// depend on when tables grew. Texts that were not added for their band are not added now either.
void NearDuplicateIndex::grow() {
  for (size_t band = 0; band < kBands; ++band) {
    std::vector<uint32_t> old(tables_[band].empty() ? 64 : 2 * tables_[band].size());
    old.swap(tables_[band]);
    // A run of full slots may go on from the end of the table to its beginning. So begin after an
    // empty slot.
    size_t begin = 0;
    while (begin < old.size() && old[begin] != 0) ++begin;
    for (size_t i = 0; i < old.size(); ++i) {
      const uint32_t entry = old[(begin + i) % old.size()];
      if (entry != 0) insert(band, entry - 1);
    }
  }
}

std::optional<SimilarText> NearDuplicateIndex::find_or_add(const MinHash& wanted) {
  std::array<size_t, kBands> places;  // where the text goes in each table
  std::array<bool, kBands> is_full{};
  if (4 * (count_ + 1) > 3 * tables_[0].size()) grow();
  const size_t mask = tables_[0].size() - 1;
  for (size_t band = 0; band < kBands; ++band) {
    const std::vector<uint32_t>& table = tables_[band];
    const uint64_t key = key_of(wanted, band);
    size_t place = mixed(key) & mask, compared = 0;
    for (; table[place] != 0 && compared < kMostCompared; place = (place + 1) & mask) {
      const MinHash& other = sketch(table[place] - 1);
      if (key_of(other, band) != key) continue;
      ++compared;
      const double found = similarity(wanted, other);
      if (found >= threshold_) return SimilarText{table[place] - 1, found};
    }
    places[band] = place;
    is_full[band] = compared == kMostCompared;
  }
  append(wanted);
  for (size_t band = 0; band < kBands; ++band) {
    if (!is_full[band]) tables_[band][places[band]] = static_cast<uint32_t>(count_);
  }
  return std::nullopt;
}

}  // namespace berth
