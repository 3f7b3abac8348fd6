#include "storage/entry_paths.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kLongestPart = 255, kLongestPath = 1024;

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("entry ", quoted(name)),
              "do not unpack an archive from a source that you do not trust");
}

void require_plain(std::string_view name) {
  if (name.empty()) refuse(name, "an entry without a name");
  if (name.front() == '/') refuse(name, "an absolute path");
  if (name.size() > kLongestPath) refuse(name, "a path that is too long");
  if (name.size() >= 2 && name[1] == ':') refuse(name, "a path with a drive letter");
  for (const char c : name) {
    if (c == '\\') refuse(name, "a path with a backslash");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) refuse(name, "a control character");
  }
}

}  // namespace

std::string EntryPaths::add(std::string_view name, bool is_directory) {
  require_plain(name);
  if (!is_directory && name.back() == '/') refuse(name, "a file whose name ends in a slash");
  std::string path;
  for (std::string_view rest = name; !rest.empty();) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") refuse(name, "a path that leaves the archive");
    if (part.size() > kLongestPart) refuse(name, "a path that is too long");
    if (!path.empty()) add_one(name, path, true);
    path += cat(path.empty() ? "" : "/", part);
  }
  if (!path.empty()) {
    add_one(name, path, is_directory);
  } else if (!is_directory) {
    refuse(name, "a file without a name");
  }
  return path;
}

void EntryPaths::add_one(std::string_view name, const std::string& path, bool is_directory) {
  const auto [at, is_new] =
      by_folded_path_.try_emplace(lower_ascii(path), Known{path, is_directory});
  if (is_new) return;
  const Known& known = at->second;
  if (known.is_directory && is_directory && known.spelling == path) return;
  refuse(name, cat("collides with the entry ", quoted(known.spelling)));
}

}  // namespace berth
