#include "trainer/corpus/corpus_characters.h"

#include "trainer/text/unicode.h"

namespace berth {
namespace {

bool is_blank(char32_t c) {
  return c == ' ' || c == '\t' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

// Controls, and characters that cannot be seen and mean nothing to a reader: soft hyphen, zero
// width space, directions, byte order mark, annotations and the replacement of damaged bytes.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x200B || c == 0x200E ||
         c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) ||
         c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFD);
}

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D; }

// Whether NFC leaves the character alone when it stands between letters. Characters that compose
// with the one before them are found by the caller.
bool changes_in_composition(char32_t c) {
  if (combining_class(c) != 0) return true;
  const Characters parts = decompose(c);
  if (parts.count == 1) return parts.items[0] != c;
  char32_t whole = parts.items[0];
  for (size_t i = 1; i < parts.count; ++i) whole = compose(whole, parts.items[i]);
  return whole != c;
}

}  // namespace

uint8_t CorpusCharacters::kind_of(char32_t c) {
  if (is_line_end(c)) return kLineEnd;
  if (is_blank(c)) return kBlank;
  if (is_control(c)) return kControl;
  uint8_t kind = changes_in_composition(c) ? kUnstable : 0;
  const GeneralCategory category = general_category(c);
  const bool is_letter = category == GeneralCategory::kLetter || category == GeneralCategory::kMark;
  if (is_letter) kind |= kLetter;
  if (CharacterClasses::shared().of(c) & kCjk) {
    kind |= kIdeograph;
  } else if (is_letter || category == GeneralCategory::kNumber || is_joiner(c)) {
    kind |= kInWord;
  }
  return kind;
}

CorpusCharacters::CorpusCharacters() : kinds_(kTabled) {
  for (char32_t c = 0; c < kTabled; ++c) kinds_[c] |= kind_of(c);
  // The last part of a decomposition composes with the character before it, even if it is not a
  // mark: Hangul vowels and finals, and some vowel signs of India.
  for (char32_t c = 0; c < kTabled; ++c) {
    const Characters parts = decompose(c);
    if (parts.count < 2) continue;
    const char32_t last = parts.items[parts.count - 1];
    if (last < kTabled) kinds_[last] |= kUnstable;
  }
}

const CorpusCharacters& CorpusCharacters::shared() {
  static const CorpusCharacters characters;
  return characters;
}

}  // namespace berth
