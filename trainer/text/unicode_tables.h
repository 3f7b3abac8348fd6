#pragma once

#include <cstddef>
#include <cstdint>

// What `tokenizers` 0.23 was measured to do with each code point: unicode_tables.cpp is generated.
namespace berth {

struct CharacterRange {
  char32_t first, last;
  uint8_t classes;  // CharacterClass bits of unicode.h
};
extern const CharacterRange kCharacterRanges[];  // ascending, disjoint; classes 0 between them
extern const size_t kCharacterRangeCount;

// Lower cases that utf8proc does not give; `second` is 0 for one character.
struct LowerCase {
  char32_t from, to, second;
};
extern const LowerCase kLowerCases[];  // ascending
extern const size_t kLowerCaseCount;

}  // namespace berth
