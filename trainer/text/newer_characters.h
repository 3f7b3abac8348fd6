#pragma once

#include <cstddef>

// Where `tokenizers` 0.23 and our utf8proc know different versions of Unicode:
// newer_characters.cpp is generated.
namespace berth {

struct CodePointRange {
  char32_t first, last;
};

// Ascending, disjoint.
extern const CodePointRange kNewerLetters[], kNewerNumbers[];  // \p{L} and \p{N} of its regexes
extern const size_t kNewerLettersCount, kNewerNumbersCount;
extern const CodePointRange kNewestNumbers[];  // numeric to the Digits pre-tokenizer
extern const size_t kNewestNumbersCount;
extern const CodePointRange kNewerWords[];  // \w of its Whitespace pre-tokenizer
extern const size_t kNewerWordsCount;
extern const CodePointRange kMarksOfNormalization[];  // StripAccents drops them, no marks to us
extern const size_t kMarksOfNormalizationCount;
extern const CodePointRange kLaterMarks[];  // marks that StripAccents leaves
extern const size_t kLaterMarksCount;
extern const CodePointRange kLaterCompatible[];  // NFKD and NFKC leave them
extern const size_t kLaterCompatibleCount;

}  // namespace berth
