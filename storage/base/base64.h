#pragma once

#include <optional>
#include <string>
#include <string_view>

// Base64 (RFC 4648). Thread-safe. Throws nothing.
namespace berth {

std::string base64(std::string_view bytes);     // RFC 4648, section 4
std::string base64url(std::string_view bytes);  // section 5, without padding, as JWTs use it

// Decodes base64 of section 4 with padding. Returns nullopt if the text is malformed.
std::optional<std::string> decode_base64(std::string_view text);

// The value of a digit of either alphabet, or -1.
int base64_value(char digit);

}  // namespace berth
