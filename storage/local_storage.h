#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/storage.h"

namespace berth {

// Files on this machine. A file is written to a hidden temporary file beside its target
// (".NAME.XXXXXX.part"), synced, and renamed to the target; then the directory is synced. The
// target therefore appears complete or not at all. Thread-safe, as every Storage is.
//
// Of two processes on this machine, one replaces the version in WriteOptions::if_generation, or
// creates the file. Across machines that holds only for creating, and only where the file system
// has renameat2(2) with RENAME_NOREPLACE, or hard links. A bucket that gcsfuse mounts has neither.
//
// Opens a named pipe or a device if it is among `pipes` or lies in /dev or /proc: the user named
// it, and a pipe waits until somebody writes. Any other one is refused with kBadData. Otherwise,
// whoever may write to a directory of jobs could stop them with a pipe, or with a link to
// /dev/zero.
std::unique_ptr<Storage> make_local_storage(const std::vector<std::string>& pipes = {});

// The functions below are for local paths that are not stored objects. They are thread-safe. Every
// Error names the path, and says what file_error() makes of the failure.

// Maps a file into memory, read-only. Throws kNotFound, kNotPermitted, or kBadData if it is not a
// regular file.
std::unique_ptr<RandomAccessSource> map_file(const std::filesystem::path& path);

// Writes all bytes where the file stands.
void write_all(int fd, Bytes bytes, const std::string& path);

// The directory that contains `path`; "." if `path` is a bare name.
std::string directory_of(const std::string& path);

// Makes the directory and those above it. Each new one is durable: its parent is synced.
void make_directories(const std::string& directory);

// Makes the directory's entries durable. Does nothing on file systems that cannot sync a directory,
// and where the directory may not be read.
void sync_directory(const std::string& directory);

// The prefix of all temporary names for `path`: ".NAME.".
std::string temporary_prefix(const std::string& path);

// Removes the temporary files in `directory` that killed processes left. A live writer holds a lock
// on its file, so a file without a lock is abandoned. A failure is ignored.
void remove_unfinished(const std::string& directory);

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
