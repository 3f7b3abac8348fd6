#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "storage/file_lock.h"

namespace berth {

// A fresh 0700 directory where TMPDIR says, gone with this and all it holds. What processes that
// were killed left there is removed by the next.
class TemporaryDirectory {
 public:
  // `purpose` is part of its name. Throws kNotPermitted.
  explicit TemporaryDirectory(std::string_view purpose);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;  // of a file in it, while this lives
};

}  // namespace berth
