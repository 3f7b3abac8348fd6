#pragma once

#include <string_view>

namespace berth {

// Compares what a zip file says of itself, which libarchive does not: the end record with the table
// of contents, and both with the size of the file. Throws kCorrupt where bytes are before or after
// the archive, or where the table has another number of entries or another size than the end record
// tells.
void require_whole_zip(std::string_view file);

}  // namespace berth
