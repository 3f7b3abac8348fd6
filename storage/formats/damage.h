#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"

// Throw kCorrupt for bytes that are not what was written. Used by the readers of this folder.
namespace berth {

inline constexpr const char* kFetchAgain = "fetch the file again";  // the usual hint

[[noreturn]] inline void fail_damaged(const std::string& what) {
  throw Error(Code::kCorrupt, what, "", kFetchAgain);
}

[[noreturn]] inline void fail_at_byte(uint64_t offset, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("byte ", offset), kFetchAgain);
}

[[noreturn]] inline void fail_tensor(std::string_view name, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("tensor ", quoted(name)), kFetchAgain);
}

}  // namespace berth
