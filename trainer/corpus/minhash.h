#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/corpus/words.h"

namespace berth {

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

}  // namespace berth
