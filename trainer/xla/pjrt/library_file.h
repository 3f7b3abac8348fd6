#pragma once

#include <string>

namespace berth {

// Throws kUsage if the shared library at `path` ends before its last segment, as after a download
// that was cut off: dlopen() maps such a file and the process dies of SIGBUS. Other damage is left
// to dlopen(), which reports it.
void check_library_is_whole(const std::string& path);

}  // namespace berth
