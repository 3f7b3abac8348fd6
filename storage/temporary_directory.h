#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "storage/file_lock.h"

namespace berth {

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
