#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

namespace berth {

// The columns that one .npy file holds, and how many rows they have.
struct NpyColumns {
  std::unique_ptr<RowReader> reader;
  uint64_t rows = 0;
};

// Reads a .npy file of `size_bytes` bytes. An array of one dimension is a column, whose name is
// `name`, or else "text" for texts and objects and "value" for others. In an array of two
// dimensions each row is a list, as JSON text. An array of records has a column for each field.
// Python objects are read from their pickle without running it (pickle.h); a single object must be
// a table.
//
// Errors of rows name the column and the row. Throws kCorrupt where the file is damaged and
// kBadData where the array is no column. Memory holds a block of rows, or the pickle.
NpyColumns open_npy(std::unique_ptr<ByteSource> file, uint64_t size_bytes, std::string name);

}  // namespace berth
