#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Overwrites the characters, then empties the string.
void wipe(std::string& secret);

// What another party wrote, as a message may show it: printable ASCII, at most `limit` bytes, and
// "..." for whatever shares eight bytes or more with one of `secrets`, which it may echo.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            size_t limit);

}  // namespace berth
