#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "storage/base/bytes.h"

namespace berth {

// A directory that appears all at once. Its files are written to a new 0700 directory beside the
// target, which publish() renames to the target. If publish() is never called, the destructor
// removes everything.
class Staging {
 public:
  // Creates missing parents of `target`.
  explicit Staging(const std::filesystem::path& target);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // The directory to fill, and a path for a temporary file that is not published.
  std::filesystem::path content() const { return path_ / "content"; }
  std::filesystem::path scratch_file() const { return path_ / "scratch"; }

  // Creates a file and writes to it whatever `read` returns, until `read` returns 0. Returns the
  // number of bytes. The file is not synced yet.
  static uint64_t write(const std::filesystem::path& path,
                        const std::function<size_t(std::span<std::byte>)>& read);

  // Syncs content() and renames it to the target.
  void publish();

 private:
  const std::filesystem::path target_;
  std::filesystem::path path_;
};

}  // namespace berth
