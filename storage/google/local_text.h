#pragma once

#include <optional>
#include <string>

namespace berth {

struct LocalText {
  std::string text;
  bool is_shared = false;  // the file's group, or others, may read it
};

// A small local file, read past all buffers, which would keep what may be secret; nullopt when
// absent. Throws kUsage when it is no file or larger than 1 MiB, kNotPermitted when it cannot be
// read.
std::optional<LocalText> read_local_text(const std::string& path);

}  // namespace berth
