#pragma once

#include <memory>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// Adds columns that the names of folders hold, as Hive, Spark and pyarrow write partitioned tables:
// "label=1/part-0.parquet" is a part of a table whose column "label" is 1 in all of its rows. The
// value is a text, or missing where the name says __HIVE_DEFAULT_PARTITION__. A column of the file
// outranks one of a folder, and "split=train" names a split. `path` is the file's path below the
// folder of the table. Returns `rows` itself where no folder has such a name.
std::unique_ptr<RowReader> with_folder_columns(std::unique_ptr<RowReader> rows,
                                               std::string_view path);

}  // namespace berth
