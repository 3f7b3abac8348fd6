#include "storage/base/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace berth {
namespace {

struct Character {
  uint32_t value;
  size_t size_bytes;
  bool valid;  // otherwise it is one byte that is not UTF-8
};

Character character_at(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || size > text.size()) return {first, 1, false};
  uint32_t value = first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  const uint32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
  const bool valid = value >= least && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  return valid ? Character{value, size, true} : Character{first, 1, false};
}

bool acts_on_terminals(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) ||  // C0, DEL, C1
         c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) ||  // directions
         c == 0x2028 || c == 0x2029;      // separators of lines and paragraphs
}

std::string escaped(uint32_t value, bool always_as_code_point) {
  char text[12];
  std::snprintf(text, sizeof text, value < 0x100 && !always_as_code_point ? "\\x%02x" : "\\u%04x",
                value);
  return text;
}

// Escapes what acts on terminals but for the characters in `kept`, which are ASCII.
std::string escaped_text(std::string_view text, std::string_view kept, bool is_json) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = character_at(text);
    const std::string_view bytes = text.substr(0, next.size_bytes);
    const bool stays =
        next.valid && (!acts_on_terminals(next.value) || kept.find(bytes) != kept.npos);
    if (stays) {
      out += bytes;
    } else {
      out += escaped(next.value, is_json);
    }
    text.remove_prefix(next.size_bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped_text(text, "", false); }

std::string printable_lines(std::string_view text) { return escaped_text(text, "\n\t", false); }

std::string printable_json(std::string_view json) { return escaped_text(json, "\n", true); }

}  // namespace berth
