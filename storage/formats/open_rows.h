#pragma once

#include <cstdint>
#include <memory>

#include "storage/formats/row_reader.h"

// A bound on the text of rows. The reader belongs to one thread.
namespace berth {

// The rows of `rows`, which are read from a file of `file_bytes`. A small file can repeat one long
// text in any number of rows, by a dictionary or by compression. A caller that stores the rows
// would fill its disk. So all rows together may have 128 bytes of text for each byte of the file.
// One KiB for each row is added, for names of categories. Beyond that, next() throws kBadData.
std::unique_ptr<RowReader> with_bounded_text(std::unique_ptr<RowReader> rows, uint64_t file_bytes);

}  // namespace berth
