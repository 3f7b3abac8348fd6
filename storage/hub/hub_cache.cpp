#include "storage/hub/hub_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_error.h"
#include "storage/local_file.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Empty where there is none. A named pipe would wait for a writer.
std::string read_line(const fs::path& path) {
  std::string line;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) std::getline(std::ifstream(path), line);
  return std::string(trimmed(line));
}

// Replaces `path` in one step.
void rename_to(const std::string& from, const fs::path& path) {
  if (::rename(from.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(from.c_str());
    throw file_error(number, "make", path.string());
  }
}

std::string beside(const fs::path& path) {
  return (path.parent_path() / cat(".", path.filename().string(), ".", random_letters(8))).string();
}

}  // namespace

bool HubCache::can_be_written() const {
  if (root_.empty()) return false;
  try {
    make_directories(root_.string());
  } catch (const Error&) {
    return false;
  }
  return ::access(root_.c_str(), W_OK | X_OK) == 0;
}

std::optional<HubSnapshot> HubCache::snapshot(const HubPath& path) const {
  if (root_.empty()) return std::nullopt;
  HubSnapshot snapshot{.commit = read_line(folder(path) / "refs" / path.revision), .files = {}};
  if (!is_commit(snapshot.commit)) snapshot.commit = path.revision;
  if (!is_commit(snapshot.commit)) return std::nullopt;
  const fs::path root = snapshot_folder(path, snapshot.commit);
  std::error_code error;
  if (!fs::is_directory(root, error)) return std::nullopt;
  for (fs::recursive_directory_iterator entry(root, error), end; entry != end && !error;
       entry.increment(error)) {
    std::error_code unreadable;  // a link to a blob that is gone
    if (!entry->is_regular_file(unreadable) || unreadable) continue;
    snapshot.files.push_back({.path = entry->path().lexically_relative(root).generic_string(),
                              .size = entry->file_size(unreadable),
                              .hash = ""});
  }
  std::ranges::sort(snapshot.files, {}, &HubFile::path);
  return snapshot;
}

std::optional<std::string> HubCache::find(const HubPath& path, const std::string& commit,
                                          const HubFile& file) const {
  if (root_.empty()) return std::nullopt;
  const fs::path place = snapshot_folder(path, commit) / file.path;
  std::error_code error;
  if (!fs::is_regular_file(place, error) || fs::file_size(place, error) != file.size || error) {
    return std::nullopt;
  }
  return place.string();
}

void HubCache::remember(const HubPath& path, const std::string& commit) const {
  if (path.revision == commit) return;
  const fs::path place = folder(path) / "refs" / path.revision;
  if (read_line(place) == commit) return;
  make_directories(place.parent_path().string());
  const std::string temporary = beside(place);
  std::ofstream out(temporary, std::ios::binary);
  out << commit;
  out.close();
  if (!out) throw file_error(errno, "write", place.string());
  rename_to(temporary, place);
}

void HubCache::link(const HubPath& path, const std::string& commit, const HubFile& file) const {
  const fs::path place = snapshot_folder(path, commit) / file.path;
  make_directories(place.parent_path().string());
  std::string target = "../../";
  for (const char c : file.path) target += c == '/' ? "../" : "";
  target += cat("blobs/", file.hash);
  const std::string temporary = beside(place);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) {
    throw file_error(errno, "make a link", place.string());
  }
  rename_to(temporary, place);
}

std::string HubCache::blob(const HubPath& path, const HubFile& file) const {
  return (folder(path) / "blobs" / file.hash).string();
}

std::string HubCache::lock_file(const HubPath& path, const HubFile& file) const {
  return (root_ / ".locks" / path.cache_folder() / cat(file.hash, ".lock")).string();
}

}  // namespace berth
