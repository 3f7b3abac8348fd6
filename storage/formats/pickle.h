#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

// Pickled tables. The functions are thread-safe, and a reader belongs to one thread.
namespace berth {

// Reads a pandas DataFrame or Series that Python pickled (protocols 0 to 5, pandas 0.20 to 3.x). A
// list of dicts and a dict of lists are tables, too.
//
// The reader interprets the pickle's opcodes and builds a table; it never imports or executes
// anything. Each global must be one of a fixed list of (module, name) pairs, which become inert
// nodes. Throws kBadData, naming the global, on any other, and kCorrupt, naming the byte offset, on
// damage. Memory is bounded by a small multiple of the pickle's size. The text of all rows is
// bounded by 128 times its size, because a pickle can refer to one text many times. Columns that
// hold neither text nor numbers read as missing values. The result owns its data.
std::unique_ptr<RowReader> read_pickle(ByteSource& source);  // looks at its beginning first
std::unique_ptr<RowReader> read_pickle(Bytes pickle);
std::unique_ptr<RowReader> read_pickle(std::vector<std::byte> pickle);  // does not copy the pickle

// Reads the pickle of an array of objects, as it stands in a .npy file, in the same way. An array
// of one dimension is a column called `name`; an array of no dimension holds a table. Sets `rows`
// to the number of rows.
std::unique_ptr<RowReader> read_pickled_array(ByteSource& source, const std::string& name,
                                              uint64_t& rows);

}  // namespace berth
