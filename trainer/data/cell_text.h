#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// A cell of a table as text. nullopt: the cell is missing.
std::optional<std::string> plain_text(const Cell& cell);
// A cell as the name of a class, without blanks around it. nullopt: the cell is missing, blank or
// nan. Throws kBadData for a fractional number, which is no class.
std::optional<std::string> label_text(const Cell& cell);
// A cell as a number. nullopt: the cell is missing, blank or nan. Throws kBadData where it is not a
// number or is too large for fp32. `decimal_comma`: texts are written with decimal commas.
std::optional<double> cell_number(const Cell& cell, bool decimal_comma = false);

// The text of a number as std::from_chars() accepts it: without the blanks around it and without a
// plus sign.
std::string_view number_text(std::string_view text);
// The number that the whole text is, apart from blanks around it. nullopt: it is not a number.
std::optional<double> parse_real(std::string_view text);
// The same for a number with a decimal comma, whose thousands may have points: 1.234,5. A point
// without a comma is refused.
std::optional<double> parse_decimal_comma(std::string_view text);

}  // namespace berth
