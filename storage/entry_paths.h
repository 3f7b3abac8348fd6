#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth {

// The names of an archive's entries, of which none may leave the directory that it is unpacked
// into, nor stand for a file that another entry wrote.
class EntryPaths {
 public:
  // `name` as a relative path without "." parts or a trailing "/": empty for the directory itself.
  // Throws kCorrupt, naming the entry, on an absolute path, "..", a backslash, a drive letter, a
  // control character, a part of more than 255 bytes, and on a name that an earlier entry has, or
  // has in other case (ASCII). Directories may repeat.
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
