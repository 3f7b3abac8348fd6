#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

// Files on this machine. A file is written to a hidden temporary file beside its target
// (".NAME.XXXXXX.part"), synced, and renamed to the target; then the directory is synced. The
// target therefore appears complete or not at all.
//
// Opens a named pipe or a device if it is among `pipes` or lies in /dev or /proc: the user named
// it, and a pipe waits until somebody writes. Any other one is refused with kBadData. Otherwise,
// whoever may write to a directory of jobs could stop them with a pipe, or with a link to
// /dev/zero.
std::unique_ptr<Storage> make_local_storage(const std::vector<std::string>& pipes = {});

// Maps a file into memory, read-only. Throws kNotFound, kNotPermitted, or kBadData if it is not a
// regular file.
std::unique_ptr<RandomAccessSource> map_file(const std::filesystem::path& path);

}  // namespace berth
