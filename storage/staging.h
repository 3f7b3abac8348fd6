#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "storage/base/bytes.h"

namespace berth {

// A directory in the making: a fresh 0700 directory beside its target, renamed there when all of it
// is on disk; gone, with all it holds, when that never happens.
class Staging {
 public:
  // Missing parents of `target` are made.
  explicit Staging(const std::filesystem::path& target);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // What will be renamed, and a place for a file that is needed meanwhile.
  std::filesystem::path content() const { return path_ / "content"; }
  std::filesystem::path scratch_file() const { return path_ / "scratch"; }

  // Makes a new file of all that `read` gives, until it gives 0; returns how many bytes. Not yet
  // synced.
  static uint64_t write(const std::filesystem::path& path,
                        const std::function<size_t(std::span<std::byte>)>& read);

  // Syncs what is in content() and renames it to the target.
  void publish();

 private:
  const std::filesystem::path target_;
  std::filesystem::path path_;
};

}  // namespace berth
