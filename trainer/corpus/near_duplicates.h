#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/corpus/minhash.h"

namespace berth {

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
