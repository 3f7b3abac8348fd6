#include "storage/temporary_directory.h"

#include <stdlib.h>

#include <system_error>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory(std::string_view purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / cat("berth-", purpose, "-XXXXXX")).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    throw Error(Code::kNotPermitted, "cannot make a temporary directory", pattern,
                "point TMPDIR at a writable place");
  }
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace berth
