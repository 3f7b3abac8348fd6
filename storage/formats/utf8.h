#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// UTF-8 as defined by RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
//
// Returns the offset of the first byte that does not begin a valid sequence, or nullopt if all of
// `text` is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// The same without the vector instructions that find_invalid_utf8() uses where the CPU has them.
std::optional<size_t> find_invalid_utf8_portable(std::string_view text);

// Appends `code_point`, which is at most 0x10FFFF. A surrogate is encoded like any other code
// point; find_invalid_utf8() then rejects it.
void append_utf8(uint32_t code_point, std::string& text);

}  // namespace berth
