#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
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

// Writes a file past the page cache (O_DIRECT in open(2)). This is for a large file that nobody
// reads soon, such as a checkpoint. The kernel then need not copy all bytes, nor make and drop
// pages for them, which costs more processor time than the writing itself. The pages also do not
// count toward the memory limit of a container.
//
// Where the file system cannot do this, the file is written through the page cache. Borrows the
// file descriptor. Not thread-safe.
class UncachedWriter {
 public:
  // `fd` is open for writing at its beginning. `path` is for Errors. Throws kMemory.
  UncachedWriter(int fd, std::string path);

  // Throws what file_error() makes of the failure.
  void write(Bytes bytes);
  // Writes the remaining bytes. Nothing may be written afterwards. The file is not synced yet.
  void finish();

 private:
  void write_blocks(size_t size);
  void use_page_cache();

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  const int fd_;
  const std::string path_;
  const std::unique_ptr<std::byte, Free> buffer_;
  size_t filled_ = 0;
  bool is_direct_;
};

}  // namespace berth
