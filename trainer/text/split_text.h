#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"
#include "trainer/text/unicode.h"

namespace berth {

// A normalized text and the words that it is split into. Words are ranges of its bytes, in order,
// disjoint and not empty.
struct SplitText {
  explicit SplitText(AlignedText normalized);

  std::string_view word(Span span) const {
    return text.text().substr(span.begin, span.end - span.begin);
  }

  AlignedText text;
  std::vector<Span> words;
};

// What happens to the text between words, that is, to each match of a pattern.
enum class SplitBehavior {
  kRemoved,
  kIsolated,            // becomes a word of its own
  kMergedWithPrevious,  // is appended to the previous word
  kMergedWithNext,      // is prepended to the next word
  kContiguous,          // consecutive matches become one word
};

// The pre-tokenizers of `tokenizers` 0.23 that files of the BERT family use. Each splits the words
// further. Immutable and thread-safe.
using SplitStep = std::function<void(SplitText&)>;
using CharacterTest = bool (*)(char32_t);

SplitStep in_sequence(std::vector<SplitStep> steps);
SplitStep splitting_at(CharacterTest matches, SplitBehavior behavior);
SplitStep splitting_at(std::string literal, SplitBehavior behavior, bool invert);
SplitStep bert_splitting();  // at whitespace; each punctuation character is a word
SplitStep word_splitting();  // the pattern \w+|[^\w\s]+
SplitStep byte_level_splitting(bool add_prefix_space, bool use_regex);
enum class PrependScheme { kAlways, kFirst, kNever };
SplitStep metaspace(std::string replacement, PrependScheme prepend, bool split);

bool is_punctuation(char32_t c);

// Returns the character that stands for a byte in GPT-2's alphabet (Radford et al. 2019). Bytes
// 21-7E, A1-AC and AE-FF stand for themselves; the other 68 are assigned U+0100 and following, in
// order.
char32_t byte_to_character(unsigned char byte);
// Converts a token in this alphabet to bytes. Returns false if it contains any other character.
bool spelled_bytes(std::string_view token, std::string& bytes);

// Returns the end of the word that begins at `begin`, as matched by GPT-2's regular expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t byte_level_word_end(std::string_view text, size_t begin);

}  // namespace berth
