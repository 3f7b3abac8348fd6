#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/storage.h"

namespace berth {

// The functions of which local_storage is made. Other code uses them for local paths that are not
// stored objects. Every `path` is a local path, and every Error names it.

// A hash of (inode, size, mtime in ns). Never 0, because 0 means "absent" in a precondition.
Generation generation_of(const struct ::stat& status);

// Throws kInUse unless the file at `path` has generation `expected` now. 0 means that it is absent.
void require_generation(const std::string& path, Generation expected);

// An advisory lock on the directory of `path`. It is held while a precondition is checked and acted
// upon, so that two processes of this program on this machine cannot both succeed. On a file system
// without locks, another process may still write between the check and the rename.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_;
};

// Maps the file that `fd` has open into memory, read-only. Returns null if it is not a regular
// file.
std::unique_ptr<RandomAccessSource> map_open_file(int fd, const std::string& path);

// Writes to ".NAME.XXXXXX.part" beside `path`. close() renames that file to `path`.
std::unique_ptr<ByteSink> make_local_sink(const std::string& path, const WriteOptions& options);

// Writes all bytes where the file stands. Throws what file_error() makes of the failure.
void write_all(int fd, Bytes bytes, const std::string& path);

// The prefix of all temporary names for `path`: ".NAME.".
std::string temporary_prefix(const std::string& path);

// Whether this is the name of a temporary file that a sink is writing, or that a killed process
// left.
bool is_unfinished(std::string_view file_name);

// Removes the temporary files in `directory` that killed processes left. A live writer holds a lock
// on its file, so a file without a lock is abandoned. A failure is ignored.
void remove_unfinished(const std::string& directory);

// Makes the directory's entries durable. Does nothing on file systems that cannot sync a directory,
// and where the directory may not be read.
void sync_directory(const std::string& directory);

// Makes the directory and those above it. Each new one is durable: its parent is synced. Throws
// kNotPermitted, kNoSpace or what else file_error() makes of the failure.
void make_directories(const std::string& directory);

// The directory that contains `path`; "." if `path` is a bare name.
std::string directory_of(const std::string& path);

}  // namespace berth
