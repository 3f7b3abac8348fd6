#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::columnar {

// The names of the columns that pandas wrote as categorical, by its metadata "pandas" in a file of
// Parquet or Arrow. The other metadata of pandas, such as which columns are its index, changes
// nothing. Text that is not of pandas' form gives no names.
std::vector<std::string> categorical_columns(const std::string& pandas);

// Whether the column is an index without a name, which pandas keeps beside the table's columns.
bool is_pandas_index(std::string_view name);

}  // namespace berth::columnar
