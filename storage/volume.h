#pragma once

#include <cstdint>
#include <optional>

#include "storage/storage.h"

// The disks behind local paths. Thread-safe. Throws nothing: what cannot be found out is nullopt or
// 0.
namespace berth {

// The file system that holds a local path, as it is now.
struct Volume {
  uint64_t id = 0;                          // equal for two paths on the same file system
  uint64_t size_bytes = 0, free_bytes = 0;  // zeros: the file system does not report it
  // Whether files take the space that these numbers say. A file system that compresses holds more,
  // and one that a program provides (FUSE) may report any size.
  bool is_certain = false;
};

// The volume of `place`, or of the part of the path that exists. nullopt: the place is not local.
std::optional<Volume> volume_of(const Uri& place);

// How many bytes the files below a local directory take, with files that are still being written.
// 0 for another place.
uint64_t bytes_below(const Uri& directory);

// The largest file that this process may write (ulimit -f).
uint64_t largest_file_bytes();

}  // namespace berth
