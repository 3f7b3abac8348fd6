#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

// Positions in valid UTF-8 text, counted in code points as Python does.

inline bool begins_code_point(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

inline uint32_t code_point_count(std::string_view text) {
  uint32_t count = 0;
  for (const char byte : text) count += begins_code_point(byte);
  return count;
}

// Returns the byte offset of code point number `place` (from 0), or text.size() if there is no such
// code point.
inline size_t code_point_offset(std::string_view text, uint32_t place) {
  size_t byte = 0;
  for (uint32_t passed = 0; byte < text.size(); ++byte) {
    if (begins_code_point(text[byte]) && passed++ == place) break;
  }
  return byte;
}

}  // namespace berth
