#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

// RFC 4648 with padding; nullopt for anything else.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace berth
