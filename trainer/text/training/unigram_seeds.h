#pragma once

#include <string>
#include <vector>

#include "trainer/text/training/unigram_words.h"

namespace berth {

// A piece of a unigram model and the logarithm of its probability.
struct UnigramPiece {
  std::u32string text;
  double score;
};

// The pieces with which training begins: the alphabet, and then the `most` best substrings of the
// words. A substring of words counts if it occurs at least twice and if different characters follow
// it. A space and the end of a row are characters here. The more characters its occurrences cover,
// the better is a substring. Such substrings are the inner nodes of a suffix tree (Abouelhoda et
// al. 2004), as in SentencePiece (Kudo and Richardson 2018). The scores are logarithms of the
// shares of covered characters.
std::vector<UnigramPiece> unigram_seeds(const UnigramWords& words, size_t most);

}  // namespace berth
