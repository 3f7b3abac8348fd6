#pragma once

#include <cstddef>

// The code points that `tokenizers` 0.23 and our utf8proc classify differently, because they know
// different versions of Unicode. newer_characters.cpp is generated.
namespace berth {

struct CodePointRange {
  char32_t first, last;
};

// All tables are ascending and disjoint.
extern const CodePointRange kNewerLetters[],
    kNewerNumbers[];  // \p{L} and \p{N} in its regular expressions
extern const size_t kNewerLettersCount, kNewerNumbersCount;
extern const CodePointRange kNewestNumbers[];  // numeric for its Digits pre-tokenizer
extern const size_t kNewestNumbersCount;
extern const CodePointRange kNewerWords[];  // \w for its Whitespace pre-tokenizer
extern const size_t kNewerWordsCount;
extern const CodePointRange
    kMarksOfNormalization[];  // StripAccents drops them; not marks in utf8proc
extern const size_t kMarksOfNormalizationCount;
extern const CodePointRange kLaterMarks[];  // marks that StripAccents keeps
extern const size_t kLaterMarksCount;
extern const CodePointRange kLaterCompatible[];  // unchanged by its NFKD and NFKC
extern const size_t kLaterCompatibleCount;

}  // namespace berth
