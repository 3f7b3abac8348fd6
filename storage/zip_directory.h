#pragma once

#include <string_view>

namespace berth {

// Checks the consistency of a zip file, which libarchive does not do. Compares the end record with
// the table of contents, and both with the size of the file. Throws kCorrupt if there are bytes
// before or after the archive. Also throws it if the table has another number of entries or another
// size than the end record says.
void require_whole_zip(std::string_view file);

}  // namespace berth
