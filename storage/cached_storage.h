#pragma once

#include <filesystem>
#include <memory>

#include "storage/storage.h"

// Two layers that keep what a Storage answered: copies of objects on disk, and lookups in memory.
// Both are thread-safe. They throw what the inner storage throws.
namespace berth {

// Keeps a copy of every whole object that is read from `inner` in `cache_dir`, a directory of
// `local` (which must outlive this). Several processes may share the directory. Each object is
// fetched once per generation and CRC-32C, and then read or mapped from the cached file. A cached
// file appears only once it is complete, and its size and CRC-32C are verified before every use.
// Fetching a new generation removes the older ones.
//
// If the cache cannot be written, a warning is logged once and objects are read directly. An object
// without a CRC-32C is identified by its generation alone. An object with neither is not cached. An
// object stored with a Content-Encoding is cached as it is read. For these two kinds, a file
// NAME.sum beside the copy records the size and CRC-32C of the copy. A damaged copy is named in a
// warning, removed and fetched again. Other verbs and reads of a range pass through.
std::unique_ptr<Storage> make_cached_storage(std::unique_ptr<Storage> inner, Storage& local,
                                             const std::filesystem::path& cache_dir);

}  // namespace berth
