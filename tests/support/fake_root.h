#pragma once

#include "tests/support/scratch_directory.h"

namespace berth {

// A temporary directory that replaces "/" for code that reads system files.
class FakeRoot {
 public:
  void write(const std::string& file, std::string_view text) {
    const std::filesystem::path whole = path() / file;
    std::filesystem::create_directories(whole.parent_path());
    write_text(whole, text);
  }
  const std::filesystem::path& path() const { return scratch_.path(); }

 private:
  ScratchDirectory scratch_;
};

}  // namespace berth
