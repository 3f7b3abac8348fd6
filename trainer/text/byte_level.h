#pragma once

#include <string>
#include <string_view>

#include "trainer/text/unicode.h"

namespace berth {

// The byte alphabet of GPT-2 (Radford et al. 2019): bytes 21-7E, A1-AC and AE-FF stand for
// themselves as characters, the other 68 in order for U+0100 and on.
char32_t byte_to_character(unsigned char byte);
// The bytes that a token of such characters spells; false where one is none of them.
bool spelled_bytes(std::string_view token, std::string& bytes);

// Where the word of GPT-2's regular expression that begins at `begin` ends in `text`:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t byte_level_word_end(std::string_view text, size_t begin);

}  // namespace berth
