#pragma once

#include <array>
#include <cstdint>

namespace berth {

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
