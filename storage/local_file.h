#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/storage.h"

namespace berth {

// Parts of local_storage. Paths are local paths, which every Error names.

// (inode, size, mtime in ns) hashed; never 0, which means "absent" in a precondition.
Generation generation_of(const struct ::stat& status);

// Throws kInUse when `path` is not at `expected` (0: absent) now.
void require_generation(const std::string& path, Generation expected);

// Held while a precondition is checked and acted upon, so that two of our processes on this machine
// cannot both succeed: an advisory lock on the directory of `path`. Where the file system knows no
// locks the window between check and rename stays open.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_;
};

// The file that `fd` has open, mapped into memory, read-only; null where it is no regular one.
std::unique_ptr<RandomAccessSource> map_open_file(int fd, const std::string& path);

// Writes ".NAME.XXXXXX.part" beside `path` and renames it there when closed.
std::unique_ptr<ByteSink> make_local_sink(const std::string& path, const WriteOptions& options);

// The start of the name of everything that is being made for `path`: ".NAME.".
std::string temporary_prefix(const std::string& path);

// Whether a file of this name is one that such a sink is writing, or left when it was killed.
bool is_unfinished(std::string_view file_name);

// Makes the names in `directory` durable. File systems that cannot are let be.
void sync_directory(const std::string& directory);

// The directory that holds `path`: "." for a bare name.
std::string directory_of(const std::string& path);

}  // namespace berth
