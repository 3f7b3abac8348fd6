#pragma once

#include <optional>
#include <string>

// Small local files that may hold secrets. Thread-safe.
namespace berth {

struct LocalText {
  std::string text;
  bool is_shared = false;  // readable by the file's group or by others
};

// Reads a small local file without buffering, because a buffer would keep secrets in memory.
// Returns nullopt if the file is absent. Throws kUsage if it is a directory or larger than 1 MiB,
// and kNotPermitted if it cannot be read.
std::optional<LocalText> read_local_text(const std::string& path);

}  // namespace berth
