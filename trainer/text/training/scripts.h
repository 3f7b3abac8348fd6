#pragma once

#include <string_view>

namespace berth {

// The writing systems that pieces of a unigram model do not mix. Japanese is one of them: Han,
// Hiragana and Katakana. Digits, punctuation and symbols are kCommonScript.
enum class Script : unsigned char {
  kCommonScript,
  kInheritedScript,  // combining marks
  kLatin,
  kGreek,
  kCyrillic,
  kArmenian,
  kHebrew,
  kArabic,
  kIndic,  // Devanagari to Sinhala: no text mixes them within a word
  kThai,
  kLao,
  kTibetan,
  kMyanmar,
  kGeorgian,
  kHangul,
  kEthiopic,
  kKhmer,
  kHan,
  kOtherScript,
};

// The script of a character, by its Unicode block.
Script script_of(char32_t c);

// Whether a unigram model may have this piece: it has at most kLongestPiece characters, a space
// sign (U+2581) only at its beginning, and characters of one script besides.
bool is_unigram_piece(std::u32string_view piece);

}  // namespace berth
