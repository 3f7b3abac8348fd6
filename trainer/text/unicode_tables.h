#pragma once

#include <cstddef>
#include <cstdint>

// The measured behavior of `tokenizers` 0.23 for each code point. unicode_tables.cpp and
// newer_characters.cpp are generated.
namespace berth {

struct CharacterRange {
  char32_t first, last;
  uint8_t classes;  // CharacterClass bits of unicode.h
};
extern const CharacterRange
    kCharacterRanges[];  // ascending and disjoint; code points between them have no class
extern const size_t kCharacterRangeCount;

// Lower-case forms that utf8proc does not return. `second` is 0 if the form is one character.
struct LowerCase {
  char32_t from, to, second;
};
extern const LowerCase kLowerCases[];  // ascending
extern const size_t kLowerCaseCount;

// The code points that `tokenizers` and our utf8proc classify differently, because they know
// different versions of Unicode. All tables are ascending and disjoint.
struct CodePointRange {
  char32_t first, last;
};

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
