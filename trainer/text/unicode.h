#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/utf8.h"

namespace berth {

// The properties of a character that the BERT tokenizer needs, as bits; a plain letter has none.
// They follow `tokenizers` 0.23, which mixes the categories of Unicode 8 with newer whitespace,
// case and decompositions.
enum CharacterClass : uint8_t {
  kRemoved = 1,          // cleaning removes it: controls, formats, private use, U+FFFD
  kToSpace = 2,          // cleaning turns it into a space
  kWhitespace = 4,       // Unicode White_Space: ends a word
  kPunctuation = 8,      // a word of its own
  kCjk = 16,             // spaces are put around it
  kNonspacingMark = 32,  // removed if accents are stripped
  kDecomposes = 64,      // NFD changes it or may move it (its combining class is not 0)
  kLowers = 128,         // has a lower-case form
};

// The classes of every code point. Immutable and thread-safe. Use shared(), because construction
// expands 1,600 ranges.
class CharacterClasses {
 public:
  CharacterClasses();
  static const CharacterClasses& shared();

  uint8_t of(char32_t c) const { return blocks_[block_of_[c >> 8] * 256u + (c & 255)]; }

 private:
  std::array<uint16_t, 0x1100> block_of_;
  std::vector<uint8_t> blocks_;
};

// A result of a few characters.
struct Characters {
  std::array<char32_t, 4> items;
  size_t count;
};
Characters decompose(char32_t c);     // NFD, in canonical order
Characters lower_case(char32_t c);    // ignores context: sigma never becomes final sigma
uint8_t combining_class(char32_t c);  // canonical combining class
bool is_word_character(char32_t c);   // \w in regular expressions

// Appends the NFKD form of one character.
void decompose_compatibly(char32_t c, std::u32string& out);
// Returns the character that both compose to in NFC, or 0.
char32_t compose(char32_t first, char32_t second);
// Whether a new grapheme cluster begins between the two characters. `state` must be 0 for the first
// call and is passed on from call to call.
bool breaks_cluster(char32_t before, char32_t after, int32_t& state);

enum class GeneralCategory : uint8_t { kLetter, kMark, kNumber, kOther, kUnassigned };
GeneralCategory general_category(char32_t c);

// The character classes in GPT-2's regular expression: \s, \p{L}, \p{N} and the rest, as
// `tokenizers` 0.23 classifies them.
enum class TextKind : uint8_t { kSpace, kLetter, kNumber, kOther };
TextKind text_kind(char32_t c);

inline constexpr auto kAsciiTextKinds = [] {
  std::array<TextKind, 128> kinds{};
  for (unsigned c = 0; c < 128; ++c) {
    const unsigned lower = c | 0x20;
    kinds[c] = c == ' ' || (c >= 9 && c <= 13) ? TextKind::kSpace
               : lower >= 'a' && lower <= 'z'  ? TextKind::kLetter
               : c >= '0' && c <= '9'          ? TextKind::kNumber
                                               : TextKind::kOther;
  }
  return kinds;
}();

bool is_white_space(char32_t c);         // Unicode's White_Space
bool is_regex_word(char32_t c);          // \w for the Whitespace pre-tokenizer
bool is_numeric(char32_t c);             // for the Digits pre-tokenizer
bool is_accent(char32_t c);              // for the StripAccents normalizer: Mn, Mc, Me
bool keeps_compatible_form(char32_t c);  // unchanged by NFKD in `tokenizers`

}  // namespace berth
