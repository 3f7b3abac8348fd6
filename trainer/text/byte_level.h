#pragma once

#include <string>
#include <string_view>

#include "trainer/text/unicode.h"

namespace berth {

// Returns the character that stands for a byte in GPT-2's alphabet (Radford et al. 2019). Bytes
// 21-7E, A1-AC and AE-FF stand for themselves; the other 68 are assigned U+0100 and following, in
// order.
char32_t byte_to_character(unsigned char byte);
// Converts a token in this alphabet to bytes. Returns false if it contains any other character.
bool spelled_bytes(std::string_view token, std::string& bytes);

// Returns the end of the word that begins at `begin`, as matched by GPT-2's regular expression:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t byte_level_word_end(std::string_view text, size_t begin);

}  // namespace berth
