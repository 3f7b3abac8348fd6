#pragma once

#include <string>
#include <string_view>

namespace berth {

std::string base64(std::string_view bytes);     // RFC 4648, section 4
std::string base64url(std::string_view bytes);  // section 5, without padding, as JWTs use it

}  // namespace berth
