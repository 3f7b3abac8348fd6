#include "storage/google/base64.h"

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

}  // namespace berth
