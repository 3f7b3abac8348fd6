#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth {

// A word of a text: a run of letters, marks and digits, or one ideograph. Words that differ in case
// only have the same hash.
struct Word {
  uint64_t hash;
  uint32_t characters;
};

struct TextMeasures {
  uint64_t characters = 0;  // all
  uint64_t visible = 0;     // without spaces and line feeds
  uint64_t letters = 0;     // letters and marks
};

// Replaces `words` by the words of a cleaned text (clean_text.h), in their order, and counts
// characters. Thread-safe.
TextMeasures find_words(std::string_view text, std::vector<Word>& words);

}  // namespace berth
