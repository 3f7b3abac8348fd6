#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "storage/base/bytes.h"

namespace berth {

// Parse numbers and texts as the opcodes of protocols 0 to 2 write them. Return nullopt if the text
// is malformed.

// Decimal digits with an optional sign. A number that does not fit 64 bits becomes the nearest
// double.
using Integer = std::variant<int64_t, double>;
std::optional<Integer> parse_integer(std::string_view text);

// Two's complement, little-endian, of any length. An empty sequence is 0.
Integer decode_integer(Bytes bytes);

// A float as Python's repr() writes it: "1.5", "inf", "nan".
std::optional<double> parse_float(std::string_view text);

// The bytes of a quoted literal with Python's escapes, such as 'a\\n'.
std::optional<std::string> unquote(std::string_view literal);

// Converts Latin-1 text with \uXXXX and \UXXXXXXXX escapes to UTF-8.
std::optional<std::string> decode_raw_unicode(std::string_view text);

}  // namespace berth
