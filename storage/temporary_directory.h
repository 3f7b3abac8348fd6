#pragma once

#include <filesystem>
#include <string_view>

namespace berth {

// A fresh 0700 directory where TMPDIR says, gone with this and all it holds.
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
};

}  // namespace berth
