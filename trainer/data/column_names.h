#pragma once

#include <span>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// The names of a table's columns, for the hint of an error: "the columns are "text", "label"". Says
// so where the names look like a line that was not split, or like a row.
std::string list_columns(std::span<const Column> columns);

// Whether the name of a column says that it tells rows apart, and so holds no texts: "id",
// "Unnamed: 0", "review_id".
bool names_rows(std::string_view name);

}  // namespace berth
