#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// What the BERT tokenizer asks about a character; bits, 0 for a plain letter. As `tokenizers` 0.23
// answers, which mixes Unicode 8 categories with newer whitespace, case and decompositions.
enum CharacterClass : uint8_t {
  kRemoved = 1,          // by cleaning: controls, formats, private use, U+FFFD
  kToSpace = 2,          // by cleaning
  kWhitespace = 4,       // Unicode White_Space: ends a word
  kPunctuation = 8,      // a word of its own
  kCjk = 16,             // gets spaces around it
  kNonspacingMark = 32,  // dropped where accents are stripped
  kDecomposes = 64,      // NFD changes it, or may move it (a combining class that is not 0)
  kLowers = 128,         // has a lower case
};

// The classes of every code point. Immutable; build it once, it expands 1,600 ranges.
class CharacterClasses {
 public:
  CharacterClasses();
  static const CharacterClasses& shared();

  uint8_t of(char32_t c) const { return blocks_[block_of_[c >> 8] * 256u + (c & 255)]; }

 private:
  std::array<uint16_t, 0x1100> block_of_;
  std::vector<uint8_t> blocks_;
};

struct DecodedCharacter {
  char32_t code_point;
  size_t size_bytes;
};

// The character at the start of `text`, which is not empty. A malformed sequence is U+FFFD, as long
// as its longest well-formed beginning, at least one byte (Unicode 3.9; Python's "replace").
DecodedCharacter decode_utf8(std::string_view text);

// Where the character that ends at `end` begins; malformed bytes stand alone.
size_t previous_character(std::string_view text, size_t end);

// Of valid UTF-8.
size_t count_characters(std::string_view text);

bool is_valid_utf8(std::string_view text);

// Writes 1 to 4 bytes to `out` and returns how many.
size_t encode_utf8(char32_t c, char* out);

// A few characters that one becomes.
struct Characters {
  std::array<char32_t, 4> items;
  size_t count;
};
Characters decompose(char32_t c);     // NFD, in canonical order
Characters lower_case(char32_t c);    // of the character alone: sigma is never final
uint8_t combining_class(char32_t c);  // canonical
bool is_word_character(char32_t c);   // \w of regular expressions

// NFKD of one character, appended.
void decompose_compatibly(char32_t c, std::u32string& out);
// The character that both together are in NFC, or 0.
char32_t compose(char32_t first, char32_t second);
// Whether a user sees a new character begin between the two (Unicode's grapheme clusters). `state`
// is 0 at first and goes from call to call.
bool breaks_cluster(char32_t before, char32_t after, int32_t& state);

enum class GeneralCategory : uint8_t { kLetter, kMark, kNumber, kOther, kUnassigned };
GeneralCategory general_category(char32_t c);

}  // namespace berth
