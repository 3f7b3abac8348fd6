#pragma once

#include <cstddef>
#include <cstdint>

// The measured behavior of `tokenizers` 0.23 for each code point. unicode_tables.cpp is generated.
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

}  // namespace berth
