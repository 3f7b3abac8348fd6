#include "trainer/corpus/clean_text.h"

#include <algorithm>

#include "trainer/corpus/duplicates.h"
#include "trainer/text/normalization_steps.h"
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

namespace {

// Appends the composed form of a run that begins with a stable character, if it has any.
void append_composed(std::string_view run, std::string& out) {
  to_unicode_form(run, UnicodeForm::kNfc, [&](ChangedCharacter each) { append_utf8(each.c, out); });
}

// Folds blanks and removes controls. The result is never longer than the text. Returns whether
// the result must still be composed.
bool fold_blanks(std::string_view text, std::string& folded) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  folded.resize(text.size());
  char* const begin = folded.data();
  char* out = begin;
  bool has_unstable = false;
  char pending = 0;  // the blank to write before the next character
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_at(text, at);
    const uint8_t kind = characters.of(next.code_point);
    if (kind & (CorpusCharacters::kBlank | CorpusCharacters::kLineEnd)) {
      if (kind & CorpusCharacters::kLineEnd) {
        pending = '\n';
      } else if (pending == 0) {
        pending = ' ';
      }
    } else if (!(kind & CorpusCharacters::kControl)) {
      if (pending != 0 && out != begin) *out++ = pending;
      pending = 0;
      out = std::copy_n(text.data() + at, next.size_bytes, out);
      has_unstable |= (kind & CorpusCharacters::kUnstable) != 0;
    }
    at += next.size_bytes;
  }
  folded.resize(static_cast<size_t>(out - begin));
  return has_unstable;
}

// Returns valid UTF-8 in normalization form C.
std::string composed_text(std::string_view text) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;  // the text before it is in `out`
  size_t last = 0;    // where the last stable character begins
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_utf8(text.substr(at));
    if (!(characters.of(next.code_point) & CorpusCharacters::kUnstable)) {
      last = at;
      at += next.size_bytes;
      continue;
    }
    size_t end = at;
    while (end < text.size()) {
      const DecodedCharacter following = decode_utf8(text.substr(end));
      if (!(characters.of(following.code_point) & CorpusCharacters::kUnstable)) break;
      end += following.size_bytes;
    }
    out.append(text, copied, last - copied);
    append_composed(text.substr(last, end - last), out);
    copied = last = at = end;
  }
  return out.append(text, copied);
}

}  // namespace

void clean_text(std::string_view text, std::string& cleaned) {
  if (fold_blanks(text, cleaned)) cleaned = composed_text(cleaned);
}

namespace {

constexpr uint64_t kNoWord = 0x51ED270B2A3F4C17;  // the hash of no character

uint64_t with_character(uint64_t hash, char32_t c) { return (hash ^ c) * 0x9FB21C651E98DF25; }

char32_t lowered(char32_t c) {
  if (c < 0x80) return 'A' <= c && c <= 'Z' ? c + 32 : c;
  return lower_case(c).items[0];
}

}  // namespace

TextMeasures find_words(std::string_view text, std::vector<Word>& words) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  TextMeasures measures;
  words.clear();
  Word word{kNoWord, 0};
  const auto end_word = [&] {
    if (word.characters == 0) return;
    words.push_back({mixed(word.hash), word.characters});
    word = {kNoWord, 0};
  };
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_at(text, at);
    at += next.size_bytes;
    const uint8_t kind = characters.of(next.code_point);
    ++measures.characters;
    measures.visible += (kind & (CorpusCharacters::kBlank | CorpusCharacters::kLineEnd)) == 0;
    measures.letters += (kind & CorpusCharacters::kLetter) != 0;
    if (kind & CorpusCharacters::kInWord) {
      word.hash = with_character(word.hash, lowered(next.code_point));
      ++word.characters;
      continue;
    }
    end_word();
    if (kind & CorpusCharacters::kIdeograph) {
      words.push_back({mixed(with_character(kNoWord, next.code_point)), 1});
    }
  }
  end_word();
  return measures;
}

}  // namespace berth
