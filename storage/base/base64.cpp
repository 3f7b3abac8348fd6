#include "storage/base/base64.h"

#include <cstdint>

namespace berth {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string encoded(std::string_view bytes, char digit62, char digit63) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0);
    }
    for (size_t k = 0; k <= group.size(); ++k) {
      const uint32_t digit = bits >> (18 - 6 * k) & 63;
      text += digit < 62 ? kDigits[digit] : digit == 62 ? digit62 : digit63;
    }
  }
  return text;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text = encoded(bytes, '+', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::string base64url(std::string_view bytes) { return encoded(bytes, '-', '_'); }

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("-_") != std::string_view::npos) {
    return std::nullopt;
  }
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_value(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

int base64_value(char digit) {
  if (digit >= 'A' && digit <= 'Z') return digit - 'A';
  if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
  if (digit >= '0' && digit <= '9') return digit - '0' + 52;
  if (digit == '+' || digit == '-') return 62;
  return digit == '/' || digit == '_' ? 63 : -1;
}

}  // namespace berth
