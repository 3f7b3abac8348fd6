#include "storage/temporary_directory.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "in-use-by-berth";
constexpr std::string_view kPrefix = "berth-";

// The holder that the lock file names. It names the machine, because several machines may share
// TMPDIR while locks may only work within one.
std::string holder() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? cat("a process of ", name) : "";
}

// Returns nullopt if the file system has no locks, or if another process holds the lock.
std::optional<FileLock> try_lock(const fs::path& directory) {
  try {
    return FileLock::take((directory / kLockName).string(), holder());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// Removes the lock file last. If this is interrupted, the rest is still recognized as left over.
void remove_whole(const fs::path& directory) {
  std::error_code ignored;
  fs::directory_iterator entry(directory, ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (entry->path().filename() != kLockName) fs::remove_all(entry->path(), ignored);
  }
  fs::remove_all(directory, ignored);
}

// Whether the directory was left by a process of this user on this machine, or is in use by one.
// Its lock file proves that it is one of ours. The text is written when the file is locked, so a
// directory that is just being made is passed over.
bool is_left_over(const fs::path& path) {
  struct ::stat directory, file;
  if (holder().empty()) return false;
  return path.filename().string().starts_with(kPrefix) && ::lstat(path.c_str(), &directory) == 0 &&
         S_ISDIR(directory.st_mode) && directory.st_uid == ::geteuid() &&
         ::lstat((path / kLockName).c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
         first_line(path / kLockName) == FileLock::text_of(holder());
}

// Removes the directories whose processes have ended without doing so.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  fs::directory_iterator entry(parent, ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (!is_left_over(entry->path())) continue;
    if (const auto lock = try_lock(entry->path())) remove_whole(entry->path());
  }
}

fs::path make_directory(std::string_view purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / cat(kPrefix, purpose, "-XXXXXX")).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    throw Error(Code::kNotPermitted, "cannot make a temporary directory", pattern,
                "point TMPDIR at a writable place");
  }
  return pattern;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory(std::string_view purpose)
    : path_(make_directory(purpose)), lock_(try_lock(path_)) {
  remove_abandoned(path_.parent_path());
}

TemporaryDirectory::~TemporaryDirectory() { remove_whole(path_); }

}  // namespace berth
