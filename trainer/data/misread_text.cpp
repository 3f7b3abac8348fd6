#include "trainer/data/misread_text.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "storage/base/utf8.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

// The byte that a character is in windows-1252, or else in Latin-1; -1: in neither.
int byte_of(char32_t character) {
  if (character < 0x100) return static_cast<int>(character);
  const auto* const high = std::ranges::find(kWindows1252, character);
  return high == std::end(kWindows1252) ? -1 : static_cast<int>(0x80 + (high - kWindows1252));
}

bool is_decoded_twice(std::string_view text) {
  std::string bytes;
  bool has_high = false;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_at(text, at);
    const int byte = byte_of(next.code_point);
    at += next.size_bytes;
    if (byte < 0) return false;
    has_high = has_high || byte >= 0x80;
    bytes += static_cast<char>(byte);
  }
  return has_high && !find_invalid_utf8(bytes);
}

// Whether most letters are letters of Latin-1 beyond ASCII, as where Cyrillic of windows-1251 was
// read as Latin-1. No language has that many of them.
bool is_of_high_letters(std::string_view text) {
  constexpr size_t kFew = 6;
  size_t high = 0, ascii = 0;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_at(text, at);
    const char32_t c = next.code_point, lower = c | 0x20;
    at += next.size_bytes;
    ascii += lower >= 'a' && lower <= 'z';
    high += c >= 0xC0 && c <= 0xFF && c != 0xD7 && c != 0xF7;
  }
  return high >= kFew && high * 10 >= (high + ascii) * 7;
}

// Whether it has the first of two bytes of UTF-8 as code page 437 and Mac OS Roman show it: a
// corner of a frame, or the sign of a root, before a character beyond ASCII that does not belong to
// it.
bool has_old_mojibake(std::string_view text) {
  constexpr size_t kBytes = 3;  // of each of the signs
  for (const std::string_view mark : {"\xE2\x94\x9C", "\xE2\x94\xAC", "\xE2\x88\x9A"}) {
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      const std::string_view next = text.substr(at + kBytes);
      const bool is_beyond_ascii = !next.empty() && static_cast<unsigned char>(next[0]) >= 0x80;
      const bool is_frame = next.starts_with("\xE2\x94") || next.starts_with("\xE2\x95");
      const bool is_greek = next.starts_with('\xCE') || next.starts_with('\xCF');
      if (is_beyond_ascii && !is_frame && !is_greek) return true;
    }
  }
  return false;
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Whether it is base64 of UTF-16 whose characters are all beyond ASCII.
bool is_utf7_run(std::string_view run) {
  if (run.size() < 3 || run.find_first_not_of("0123456789") == run.npos) return false;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : run) {
    bits = bits << 6 | static_cast<uint32_t>(base64_value(c));
    count += 6;
    if (count < 16) continue;
    count -= 16;
    const uint32_t unit = bits >> count & 0xFFFF;
    // Letters, marks and surrogate pairs; private characters and controls stand in no text.
    if (unit < 0xA0 || (unit >= 0xE000 && unit < 0xF900)) return false;
  }
  return count < 6 && (bits & ((1u << count) - 1)) == 0;
}

// Whether nearly every character beyond ASCII is the second one of a pair, as where each of the two
// bytes of UTF-8 became a character. `leads`: what the first bytes of the language's letters
// become.
bool is_in_pairs(std::u32string_view text, std::u32string_view leads) {
  constexpr size_t kFew = 4;
  size_t pairs = 0, others = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_lead = leads.find(text[i]) != leads.npos;
    if (text[i] < 0x80) continue;
    if (is_lead && i + 1 < text.size() && text[i + 1] >= 0x80) {
      ++pairs;
      ++i;
    } else {
      ++others;
    }
  }
  return pairs >= kFew && pairs >= 4 * others;
}

// Whether it is Cyrillic that was read in another of its encodings. The encodings have the letters
// at other places, so rare letters, capitals inside of words and signs stand for usual letters.
bool is_misread_cyrillic(std::u32string_view text) {
  // What windows-1251 shows for usual letters of KOI8-R, and the other way round.
  constexpr std::u32string_view kOfKoi8 = U"\u0411\u0419\u0424\u0427\u042A\u0426\u0429",
                                k1251 = U"\u042E\u0425\u042F\u0428\u0411\u0419\u042A";
  size_t capitals = 0, first_half = 0, second_half = 0, signs = 0, framed = 0, rises = 0;
  size_t of_koi8 = 0, of_1251 = 0;
  bool after_letter = false, after_small = false;
  for (const char32_t c : text) {
    const bool is_capital = c >= 0x410 && c <= 0x42F, is_small = c >= 0x430 && c <= 0x44F;
    const bool is_frame = c >= 0x2500 && c <= 0x259F;
    capitals += is_capital;
    first_half += c >= 0x430 && c <= 0x43F;
    second_half += c >= 0x440 && c <= 0x44F;
    signs += c >= 0x80 && !is_capital && !is_small;
    framed += is_frame && after_letter;
    rises += is_capital && after_small;
    of_koi8 += kOfKoi8.find(c) != kOfKoi8.npos;
    of_1251 += k1251.find(c) != k1251.npos;
    after_letter = is_capital || is_small;
    after_small = is_small;
  }
  constexpr size_t kFew = 20, kFewSigns = 4;
  const size_t small = first_half + second_half, letters = small + capitals;
  if (letters >= kFew && capitals > small && 4 * std::max(of_koi8, of_1251) >= letters) return true;
  if (rises >= kFewSigns && 8 * rises >= letters) return true;
  if (framed >= kFewSigns && 4 * framed >= letters) return true;
  // The halves of the small letters do not lie side by side in code page 866.
  const bool is_of_one_half = first_half == 0 || second_half == 0;
  return is_of_one_half && small >= kFew / 2 && 3 * signs >= small;
}

// Whether letters stand around a sign that windows-1252 shows for a letter of windows-1250, as in
// Polish. Also whether the text has letters that no language has together, as in Czech.
bool is_misread_central(std::u32string_view text) {
  constexpr std::u32string_view kSigns = U"\u00B3\u00B9\u00BF\u00BA\u00BE";
  const auto is_latin = [](char32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 0xDF && c <= 0xFF && c != 0xF7);
  };
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const bool is_sign = kSigns.find(text[i]) != kSigns.npos;
    if (is_sign && is_latin(text[i - 1]) && is_latin(text[i + 1])) return true;
  }
  const auto has = [&](char32_t c) { return text.find(c) != text.npos; };
  return has(0xF8) && (has(0xEC) || has(0xF9));
}

// Whether it has characters that stand for usual ones of Chinese and Japanese, where UTF-8 was read
// as GBK or Shift_JIS. They are rare otherwise.
bool is_misread_cjk(std::u32string_view text) {
  constexpr std::u32string_view kMarks = U"\u9428\u951B\u9286\u93C4\u9366\u7E3A\u7E67\u7E5D";
  return std::ranges::count_if(text, [&](char32_t c) { return kMarks.find(c) != kMarks.npos; }) > 2;
}

bool is_misread_script(std::string_view text) {
  constexpr size_t kMostCharacters = 2000;  // more show nothing more
  std::u32string characters;
  for (size_t at = 0; at < text.size() && characters.size() < kMostCharacters;) {
    const DecodedCharacter next = decode_at(text, at);
    characters += next.code_point;
    at += next.size_bytes;
  }
  // The first bytes of UTF-8 in windows-1251, -1253, -1256 and code page 866.
  constexpr std::u32string_view kLeads[] = {U"\u0420\u0421", U"\u039E\u039F", U"\u0637\u0638",
                                            U"\u2568\u2564"};
  return std::ranges::any_of(kLeads, [&](auto leads) { return is_in_pairs(characters, leads); }) ||
         characters.find(U"\u0432\u0402") != characters.npos ||  // a quote as windows-1251
         is_misread_cyrillic(characters) || is_misread_central(characters) ||
         is_misread_cjk(characters);
}

}  // namespace

bool is_mojibake(std::string_view text) {
  const bool is_ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii || find_invalid_utf8(text)) return false;
  if (text.find("\xC3\xA2\xE2\x82\xAC") != text.npos) return true;
  for (size_t at = text.find('\xC3'); at != text.npos; at = text.find('\xC3', at + 1)) {
    const std::string_view rest = text.substr(at);
    const bool begins = rest.starts_with("\xC3\x83") || rest.starts_with("\xC3\x82");
    if (begins && rest.size() > 3 && rest[2] == '\xC2') return true;
  }
  return is_decoded_twice(text) || is_of_high_letters(text) || has_old_mojibake(text) ||
         is_misread_script(text);
}

bool begins_iso_2022(std::string_view text) {
  // ISO-2022-KR has its escape once, at the beginning of the file.
  const size_t shift = text.find('\x0E');
  if (shift != text.npos && text.find('\x0F', shift) != text.npos) return true;
  for (size_t at = text.find('\x1B'); at != text.npos; at = text.find('\x1B', at + 1)) {
    const std::string_view rest = text.substr(at + 1, 3);
    if (rest.starts_with("$B") || rest.starts_with("$@") || rest.starts_with("$A") ||
        rest.starts_with("$(") || rest.starts_with("$)")) {
      return true;
    }
  }
  return false;
}

bool has_hz(std::string_view text) {
  for (size_t at = text.find("~{"); at != text.npos; at = text.find("~{", at + 1)) {
    const std::string_view rest = text.substr(at + 2);
    size_t i = 0;
    const auto is_in = [&](size_t place, char last) {
      return place < rest.size() && rest[place] >= '!' && rest[place] <= last;
    };
    while (is_in(i, 'w') && is_in(i + 1, '~')) i += 2;
    if (i > 0 && rest.substr(i).starts_with("~}")) return true;
  }
  return false;
}

bool has_utf7(std::string_view text) {
  for (size_t at = text.find('+'); at != text.npos; at = text.find('+', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && base64_value(text[end]) >= 0) ++end;
    if (is_utf7_run(text.substr(at + 1, end - at - 1))) return true;
    at = end > at + 1 ? end - 1 : at;
  }
  return false;
}

}  // namespace berth
