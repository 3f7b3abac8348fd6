#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/corpus/clean_text.h"

namespace berth {

// Two texts have the same hash only if they are equal, but for a chance of n^2 / 2^129 among n
// texts. It is no protection against somebody who searches for two texts with one hash.
struct TextHash {
  uint64_t low = 0, high = 0;
  bool operator==(const TextHash&) const = default;
};
TextHash hash_text(std::string_view text);

// Mixes the bits of a number, so that each bit of the result depends on each bit of `value`. A
// permutation of the 64-bit numbers.
constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93;
  value = (value ^ (value >> 29)) * 0xA0761D6478BD642F;
  return value ^ (value >> 32);
}

// The hashes of the texts that were seen. It takes 21 to 43 bytes for each, and half as much again
// for a moment while it grows. Not thread-safe.
class TextHashSet {
 public:
  // Whether the hash was not in the set yet.
  bool insert(TextHash hash);

  size_t size() const { return count_; }
  size_t memory_bytes() const { return slots_.size() * sizeof(TextHash); }

 private:
  size_t place_of(TextHash hash) const;
  void grow();

  std::vector<TextHash> slots_;  // a power of two; {0, 0}: empty
  size_t count_ = 0;
};

// MinHash (Broder 1997, "On the resemblance and containment of documents"): a sketch of a text from
// which the similarity of two texts is estimated. The similarity is Jaccard's: of all different
// runs of 5 words (5-grams) in either text, the share that is in both. For each of 128
// permutations of the 5-grams' hashes, the sketch holds 8 bits of the smallest hash (b-bit minwise
// hashing: Li and Koenig 2010, arXiv:0910.3349).
using MinHash = std::array<uint8_t, 128>;

// Makes sketches. Holds scratch memory, so each thread needs its own.
class MinHasher {
 public:
  MinHasher();

  // The sketch of a text with these words (find_words()), of which there is at least one. Fewer
  // than five words count as one run.
  MinHash of(std::span<const Word> words);

 private:
  // Permutation i takes x to factors_[i] * x + summands_[i] modulo 2^32. Factors are odd.
  std::array<uint32_t, 128> factors_, summands_;
  std::vector<uint32_t> shingles_;
};

// Estimates the Jaccard similarity of two texts, from 0 to 1. The standard error is at most 0.045;
// it is 0.035 for a similarity of 0.8.
double similarity(const MinHash& a, const MinHash& b);

// A text that was added before and is similar enough.
struct SimilarText {
  uint32_t index;  // how many texts were added before it
  double similarity;
};

// The sketches of the remaining texts, and tables to find similar ones. A sketch is cut into 16
// bands of 8 bytes, and texts that share a band are compared (locality-sensitive hashing: Indyk and
// Motwani 1998). Texts whose similarity is 0.7 share a band with probability 0.6. For a similarity
// of 0.8 the probability is 0.95, and for 0.9 it is 0.9998. Texts are equal enough if similarity()
// says so.
//
// A text takes 128 bytes for its sketch and 85 to 171 bytes in the tables. While a table grows, it
// takes half as much again for a moment. Not thread-safe.
class NearDuplicateIndex {
 public:
  static constexpr size_t kBands = 16, kRows = 8;
  // The most texts that are compared because of one band. A band that 64 texts share is
  // a form letter; further texts with it are not added to the table of this band.
  static constexpr size_t kMostCompared = 64;
  static constexpr size_t kMostTexts = UINT32_MAX - 1;

  // `threshold`: the least similarity of two texts to be found, from 0 to 1.
  explicit NearDuplicateIndex(double threshold) : threshold_(threshold) {}

  // Returns a text that was added before and whose similarity is at least the threshold. If there
  // is none, adds the text. Throws kBadData for more than kMostTexts texts.
  std::optional<SimilarText> find_or_add(const MinHash& sketch);

  size_t size() const { return count_; }
  size_t memory_bytes() const;

 private:
  static constexpr size_t kChunk = 4096;
  using Chunk = std::array<MinHash, kChunk>;

  const MinHash& sketch(uint32_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }
  void append(const MinHash& sketch);
  void grow();
  void insert(size_t band, uint32_t index);

  const double threshold_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // the sketches, by index
  // For each band, open addressing with a power of two of slots: index + 1, or 0 for an empty slot.
  std::array<std::vector<uint32_t>, kBands> tables_;
  size_t count_ = 0;
};

}  // namespace berth
