#include "storage/base/text.h"

#include <algorithm>
#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "storage/base/utf8.h"

namespace berth {
namespace {

bool acts_on_terminals(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) ||  // C0, DEL, C1
         c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) ||  // directions
         c == 0x2028 || c == 0x2029;      // separators of lines and paragraphs
}

// Characters without a shape that can hide a text in another one. The joiners U+200C and U+200D
// have a meaning in words and pictures, and are not among them.
bool is_invisible(uint32_t c) {
  return c == 0x200B || c == 0xFEFF || (c >= 0x2060 && c <= 0x2064) ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);  // the last ones are tags
}

// JSON knows escapes of 16 bits alone.
std::string escaped(uint32_t value, bool is_json) {
  if (!is_json && value < 0x100) return formatted("\\x%02x", value);
  if (value < 0x10000) return formatted("\\u%04x", value);
  if (!is_json) return formatted("\\U%08x", value);
  const uint32_t offset = value - 0x10000;
  return formatted("\\u%04x\\u%04x", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
}

// Escapes what acts on terminals or cannot be seen, but for the characters in `kept`, which are
// ASCII.
std::string escaped_text(std::string_view text, std::string_view kept, bool is_json) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    DecodedCharacter next = decode_at(text, 0);
    const bool is_text = !is_malformed(next, text);
    if (!is_text) next = {static_cast<unsigned char>(text.front()), 1};
    const std::string_view bytes = text.substr(0, next.size_bytes);
    const bool is_shown = !acts_on_terminals(next.code_point) && !is_invisible(next.code_point);
    if (is_text && (is_shown || kept.find(bytes) != kept.npos)) {
      out += bytes;
    } else {
      out += escaped(next.code_point, is_json);
    }
    text.remove_prefix(next.size_bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped_text(text, "", false); }

std::string printable_lines(std::string_view text) { return escaped_text(text, "\n\t", false); }

std::string printable_json(std::string_view json) { return escaped_text(json, "\n", true); }

std::string formatted(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::va_list again;
  va_copy(again, values);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, format, values)), '\0');
  va_end(values);
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return lower;
}

std::string_view beginning(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && !begins_code_point(text[limit])) --limit;
  return text.substr(0, limit);
}

std::string quoted(std::string_view text, size_t limit) {
  const std::string_view shown = beginning(text, limit);
  return '"' + printable(shown) + (shown.size() < text.size() ? "...\"" : "\"");
}

std::string shortened(std::string_view text, size_t limit) {
  const std::string_view shown = beginning(text, limit);
  return cat(shown, shown.size() < text.size() ? "…" : "");
}

std::string enumerated(const std::vector<std::string>& texts) {
  std::string all;
  for (size_t i = 0; i < texts.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  }
  return all;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_word_byte(char byte) {
  const char lower = static_cast<char>(byte | 0x20);
  return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') ||
         static_cast<unsigned char>(byte) >= 0x80;
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string random_letters(size_t count) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string letters(count, ' ');
  for (char& letter : letters) letter = kLetters[random() % kLetters.size()];
  return letters;
}

namespace {

template <typename Text>
std::vector<Text> parts_of(std::string_view text, std::string_view separators) {
  std::vector<Text> parts;
  while (true) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(separators), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::string> parted(std::string_view text, std::string_view separators) {
  return parts_of<std::string>(text, separators);
}

std::vector<std::string_view> words_in(std::string_view text) {
  return parts_of<std::string_view>(text, " ");
}

std::string_view find_word(std::string_view text, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return {};
  for (size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == ' ',
               ends = end == text.size() || text[end] == ' ';
    if (begins && ends) return text.substr(at, word.size());
  }
  return {};
}

std::string human_bytes(uint64_t size_bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(size_bytes);
  int unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace berth
