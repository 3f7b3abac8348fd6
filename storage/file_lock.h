#pragma once

#include <optional>
#include <string>

#include "storage/file_descriptor.h"

namespace berth {

// A lock on a local file that one process can hold at a time. The file's text names the holder. The
// kernel releases the lock when the process ends in any way, so a job that was killed can be
// restarted at once.
class FileLock {
 public:
  // Takes the lock and writes `holder` to the file. Returns nullopt if the file system has no locks
  // or the file cannot be created. Throws kInUse, with the text of the holder, if another process
  // holds the lock.
  static std::optional<FileLock> take(const std::string& path, const std::string& holder);

  // Removes the file.
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(std::string path, FileDescriptor file);

  std::string path_;  // empty after a move
  FileDescriptor file_;
};

}  // namespace berth
