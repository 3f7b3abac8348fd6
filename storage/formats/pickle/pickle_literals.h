#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "storage/base/bytes.h"

namespace berth {

// Numbers and texts as the opcodes of protocols 0-2 spell them. nullopt: not so spelled.

// Decimal digits with an optional sign; one that does not fit 64 bits becomes the nearest double.
using Integer = std::variant<int64_t, double>;
std::optional<Integer> parse_integer(std::string_view text);

// Two's complement, little-endian, of any length; none is 0.
Integer decode_integer(Bytes bytes);

// As Python's repr writes it: "1.5", "inf", "nan".
std::optional<double> parse_float(std::string_view text);

// A quoted literal with Python's escapes ("'a\\n'"): its bytes.
std::optional<std::string> unquote(std::string_view literal);

// Latin-1 with \uXXXX and \UXXXXXXXX: as UTF-8.
std::optional<std::string> decode_raw_unicode(std::string_view text);

}  // namespace berth
