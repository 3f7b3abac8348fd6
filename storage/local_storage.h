#pragma once

#include <filesystem>
#include <memory>

#include "storage/storage.h"

namespace berth {

// Files of this machine. A write goes to a hidden temporary file beside its target
// (".NAME.XXXXXX.part"), is synced, then renamed over it, and the directory is synced: whole or not
// at all.
std::unique_ptr<Storage> make_local_storage();

// A file mapped into memory, read-only. Throws kNotFound, kNotPermitted, or kBadData on a
// directory.
std::unique_ptr<RandomAccessSource> map_file(const std::filesystem::path& path);

}  // namespace berth
