#pragma once

#include <filesystem>
#include <memory>

#include "storage/storage.h"

namespace berth {

// Whole objects of `inner` that are read pass through `cache_dir`, a directory of `local` (which
// outlives this) that several processes may share: each is fetched once for its generation and
// CRC-32C, into a file that appears whole, and read, or mapped, from there. A cached file is
// compared with its size and CRC-32C before every use; older generations of the same object go. A
// cache that cannot be written warns once and is read around. Objects without a CRC-32C are known
// by their generation alone; those with neither, and those stored with a Content-Encoding (whose
// CRC-32C is not of the bytes that are read), are not cached. Other verbs, and reads of a range,
// pass through.
std::unique_ptr<Storage> make_cached_storage(std::unique_ptr<Storage> inner, Storage& local,
                                             const std::filesystem::path& cache_dir);

}  // namespace berth
