#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/training/word_table.h"

namespace berth {

// What follows a word: a space, the end of the row, or something that no piece contains.
enum class Follower : uint8_t { kSpace, kRowEnd, kOther };

// The words that a unigram model is trained on, as code points, one after the other.
struct UnigramWords {
  std::u32string characters;
  std::vector<uint64_t> ends;       // where each word ends in `characters`
  std::vector<uint64_t> counts;     // how often each word occurs
  std::vector<Follower> followers;  // what follows each word
  std::vector<char32_t> alphabet;   // the characters that must be pieces, the most frequent first

  size_t size() const { return ends.size(); }
  // A word occurs several times if different things follow it.
  std::u32string_view word(size_t i) const {
    const uint64_t begin = i == 0 ? 0 : ends[i - 1];
    return std::u32string_view(characters).substr(begin, ends[i] - begin);
  }
};

// The longest piece, and the longest word that is trained on, in characters.
inline constexpr size_t kLongestPiece = 16, kLongestWord = 48;

// Takes the most frequent words of `words`, at most `most`. The alphabet is the smallest set of
// most frequent characters that cover `coverage` of all occurrences of characters (as in
// SentencePiece). Words are cut where another character stands, and after kLongestWord characters.
// The order of the words does not depend on the order of `words`.
UnigramWords unigram_words(ShardedWordTable words, size_t most, double coverage);

}  // namespace berth
