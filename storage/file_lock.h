#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "storage/file_descriptor.h"

namespace berth {

// A lock on a local file that one process can hold at a time. The file's text names the holder. The
// kernel releases the lock when the process ends in any way, so a job that was killed can be
// restarted at once.
class FileLock {
 public:
  // Takes the lock and writes text_of(holder) to the file. Returns nullopt if the file system has
  // no locks. Throws kInUse, with the text of the holder, if another process holds the lock. Throws
  // kNotPermitted if the file cannot be opened or is not a lock file: a lock file is a regular file
  // with one name, and is empty or holds the text of a holder. Nothing else is changed.
  static std::optional<FileLock> take(const std::string& path, const std::string& holder);

  // The process that holds the lock file `path`, as the file's text names it. nullopt if no process
  // holds it, if there is no such file, or if berth cannot find out.
  static std::optional<std::string> holder_of(const std::string& path);

  // {"holder": "HOLDER"}. `holder` is ASCII without quotation marks and backslashes.
  static std::string text_of(const std::string& holder);

  // Throws kNotFound if the file was removed, usually with its directory, and kInUse if another
  // process has put its own in its place. Thread-safe.
  void require_held() const;

  // Removes the file if it is still this lock's.
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(std::string path, FileDescriptor file);

  std::string path_;  // empty after a move
  FileDescriptor file_;
};

// A new 0700 directory in TMPDIR that is removed, with its contents, by the destructor. The
// constructor also removes directories that killed processes left there.
class TemporaryDirectory {
 public:
  // `purpose` becomes part of the name. Throws kNotPermitted.
  explicit TemporaryDirectory(std::string_view purpose);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;  // on a file in the directory: marks it as used
};

}  // namespace berth
