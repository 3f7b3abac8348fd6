#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF.
//
// The offset of the first byte that no valid sequence begins with; nullopt: all of `text` is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// Appends `code_point`, which is at most 0x10FFFF. A surrogate is encoded as if it were a character
// (which find_invalid_utf8 then finds).
void append_utf8(uint32_t code_point, std::string& text);

}  // namespace berth
