#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

struct NumberForm;

// Whether a text of a CSV file means that the value is missing, as pandas' read_csv() takes it by
// default: "NA", "nan", "NULL", "None", "N/A", "#N/A", ...
bool means_missing(std::string_view text);
// Whether a cell is missing or blank. `are_texts` (RowReader::is_of_texts): means_missing() counts.
bool is_missing(const Cell& cell, bool are_texts);

// A cell of a table as text. nullopt: the cell is missing.
std::optional<std::string> plain_text(const Cell& cell);
// A cell as the name of a class, without blanks around it. nullopt: the cell is missing, blank or
// nan. Throws kBadData for a fractional number, which is no class.
std::optional<std::string> label_text(const Cell& cell);
// A cell as a number. nullopt: the cell is missing, blank or nan. Throws kBadData where it is not a
// number of this form or is too large for fp32.
std::optional<double> cell_number(const Cell& cell, const NumberForm& form);
std::optional<double> cell_number(const Cell& cell);

// The text of a number as std::from_chars() accepts it: without the blanks around it and without a
// plus sign.
std::string_view number_text(std::string_view text);
// The number that the whole text is, apart from blanks around it. nullopt: it is not a number.
std::optional<double> parse_real(std::string_view text);

}  // namespace berth
