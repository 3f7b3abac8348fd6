#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

// Decodes RFC 4648 base64 with padding. Returns nullopt if the text is malformed.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace berth
