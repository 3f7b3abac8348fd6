#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

// What Spark and libraries of Python note about columns in a file's metadata. Thread-safe. Throws
// nothing: malformed metadata says nothing.
namespace berth::columnar {

// The names of the classes for which the integers of a column stand, by the column's name. They
// come from the metadata "huggingface", in which the library `datasets` keeps the features of a
// data set: {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}.
// Lists of classes have theirs inside. Columns without names are left out. Text that is not of this
// form gives no names.
std::map<std::string, std::vector<std::string>> class_names(const std::string& hugging_face);

// The names of the columns that pandas wrote as categorical, by its metadata "pandas" in a file of
// Parquet or Arrow. The other metadata of pandas, such as which columns are its index, changes
// nothing. Text that is not of pandas' form gives no names.
std::vector<std::string> categorical_columns(const std::string& pandas);

// The names of the columns that pandas wrote from durations (timedelta64), by the same metadata. In
// Parquet such a column is one of integers.
std::vector<std::string> duration_columns(const std::string& pandas);

// The same of Spark's intervals, by its metadata "org.apache.spark.sql.parquet.row.metadata":
// {"type": "struct", "fields": [{"name": "wait", "type": "interval day to second"}]}.
std::vector<std::string> interval_columns(const std::string& spark);

// Whether the column is an index without a name, which pandas keeps beside the table's columns.
bool is_pandas_index(std::string_view name);

}  // namespace berth::columnar
