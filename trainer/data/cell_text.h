#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// What a table's cell says. nullopt: it is missing.
std::optional<std::string> plain_text(const Cell& cell);
// A class's name, without blanks around it; "" and nan are missing. Throws kBadData on a fractional
// number.
std::optional<std::string> label_text(const Cell& cell);
// Throws kBadData where it is no number, or none that fp32 holds.
std::optional<double> cell_number(const Cell& cell);

// A number's text as std::from_chars() reads it: without blanks around it, or a plus before it.
std::string_view number_text(std::string_view text);
// The whole text as a number, which blanks may surround; nullopt: it is none.
std::optional<double> parse_real(std::string_view text);

}  // namespace berth
