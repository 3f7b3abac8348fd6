#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth {

// Checks the names of an archive's entries. No entry may leave the directory that the archive is
// unpacked into, and no entry may overwrite another.
class EntryPaths {
 public:
  // Returns `name` as a relative path without "." parts and without a trailing "/"; the directory
  // itself becomes an empty path. Throws kCorrupt, naming the entry, on an absolute path, "..", a
  // backslash, a drive letter, a control character, or a part longer than 255 bytes. Also on a name
  // that equals an earlier one when ASCII case is ignored. A directory may appear more than once.
  std::string add(std::string_view name, bool is_directory);

 private:
  struct Known {
    std::string spelling;
    bool is_directory;
  };
  void add_one(std::string_view name, const std::string& path, bool is_directory);

  std::map<std::string, Known> by_folded_path_;
};

}  // namespace berth
