#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"

namespace berth {

// A normalized text and the words it is cut into, as bytes of it: in order, disjoint, not empty.
struct SplitText {
  explicit SplitText(AlignedText normalized);

  std::string_view word(Span span) const {
    return text.text().substr(span.begin, span.end - span.begin);
  }

  AlignedText text;
  std::vector<Span> words;
};

// What becomes of the text between words, which is each match of a pattern.
enum class SplitBehavior {
  kRemoved,
  kIsolated,            // a word of its own
  kMergedWithPrevious,  // joins the word before it
  kMergedWithNext,
  kContiguous,  // matches in a row are one word
};

// The pre-tokenizers of `tokenizers` 0.23 that BERT-family files use: they cut the words further.
// Immutable and thread-safe.
using SplitStep = std::function<void(SplitText&)>;
using CharacterTest = bool (*)(char32_t);

SplitStep in_sequence(std::vector<SplitStep> steps);
SplitStep splitting_at(CharacterTest matches, SplitBehavior behavior);
SplitStep splitting_at(std::string literal, SplitBehavior behavior, bool invert);
SplitStep bert_splitting();  // whitespace goes, punctuation stands alone
SplitStep word_splitting();  // \w+|[^\w\s]+
SplitStep byte_level_splitting(bool add_prefix_space, bool use_regex);
enum class PrependScheme { kAlways, kFirst, kNever };
SplitStep metaspace(std::string replacement, PrependScheme prepend, bool split);

bool is_punctuation(char32_t c);

}  // namespace berth
