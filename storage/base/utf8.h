#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
// Thread-safe.
namespace berth {

struct DecodedCharacter {
  char32_t code_point;
  size_t size_bytes;
};

// Decodes the character at the start of `text`, which must not be empty. A malformed sequence
// becomes U+FFFD. It is as long as its longest well-formed prefix, and at least one byte (Unicode
// 3.9; Python's errors="replace").
DecodedCharacter decode_utf8(std::string_view text);
// The same for the character at `i`; fast for ASCII.
inline DecodedCharacter decode_at(std::string_view text, size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  return byte < 0x80 ? DecodedCharacter{byte, 1} : decode_utf8(text.substr(i));
}
// Whether `character`, which was decoded at the start of `text`, stands for a malformed sequence.
inline bool is_malformed(const DecodedCharacter& character, std::string_view text) {
  return character.code_point == 0xFFFD && !text.starts_with("\xEF\xBF\xBD");
}

// Returns where the character that ends at `end` begins. A malformed byte counts as one character.
size_t previous_character(std::string_view text, size_t end);

// Returns the offset of the first byte that does not begin a valid sequence, or nullopt if all of
// `text` is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);
// The same without the vector instructions that find_invalid_utf8() uses where the CPU has them.
std::optional<size_t> find_invalid_utf8_portable(std::string_view text);

// Writes 1 to 4 bytes to `out` and returns their number. `c` is at most 0x10FFFF. A surrogate is
// encoded like any other code point; find_invalid_utf8() then rejects it.
size_t encode_utf8(char32_t c, char* out);
// Appends the same bytes.
void append_utf8(char32_t c, std::string& text);
std::string to_utf8(char32_t c);
std::string to_utf8(std::u32string_view text);

// Copies `text` with U+FFFD for every malformed sequence, and returns how many there were.
size_t replace_malformed(std::string_view text, std::string& copy);

}  // namespace berth
