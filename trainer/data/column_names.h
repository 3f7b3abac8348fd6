#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// The names of a table's columns, for the hint of an error: "the columns are "text", "label"". Says
// so where the names look like a line that was not split, or like a row.
std::string list_columns(std::span<const Column> columns);

// Whether the name of a column says that it tells rows apart, and so holds no texts: "id",
// "Unnamed: 0", "review_id".
bool names_rows(std::string_view name);

// The names, in quotes, of other columns than `label` that may hold the labels: "intent" beside
// "sentiment". There is none if the name of `label` plainly means labels. `used`: other columns
// that are read.
std::vector<std::string> other_labels(std::span<const Column> columns, size_t label,
                                      std::span<const size_t> used);

// The first column that holds weights of rows by its name, such as "sample_weight".
std::optional<size_t> find_weights(std::span<const Column> columns);

}  // namespace berth
