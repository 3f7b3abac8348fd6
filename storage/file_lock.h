#pragma once

#include <optional>
#include <string>

#include "storage/file_descriptor.h"

namespace berth {

// A local file that one process holds at a time, and that says which. The kernel lets it go with
// the process, however that ends, so that a job which was killed can begin again at once.
class FileLock {
 public:
  // nullopt where the file system knows no locks, or the file cannot be made. Throws kInUse, with
  // what the holder wrote, where another holds it.
  static std::optional<FileLock> take(const std::string& path, const std::string& holder);

  // Removes the file.
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(std::string path, FileDescriptor file);

  std::string path_;  // empty: moved from
  FileDescriptor file_;
};

}  // namespace berth
