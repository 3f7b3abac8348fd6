#pragma once

#include <string_view>

#include "storage/base/error.h"

namespace berth {

// Throws kBadData if a file is a pointer of git-lfs, which stands in place of a file that was not
// fetched.
inline void refuse_lfs_pointer(std::string_view content) {
  if (!content.starts_with("version https://git-lfs")) return;
  throw Error(Code::kBadData, "is a pointer of git-lfs, not the file itself", "",
              "run git lfs pull");
}

}  // namespace berth
