#include "storage/file_lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"

namespace berth {
namespace {

// How the text of every lock file begins.
constexpr std::string_view kMark = R"({"holder": ")";
constexpr std::string_view kEnd = R"("})";

std::string first_bytes(int fd) {
  char text[256];
  const ssize_t read = ::pread(fd, text, sizeof text, 0);
  return std::string(text, read > 0 ? static_cast<size_t>(read) : 0);
}

// Whether `path` still names the opened file. The previous holder may have removed it meanwhile.
bool is_current(const std::string& path, int fd) {
  struct ::stat opened, named;
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(Code::kNotPermitted, why, path,
              "berth locks this file while it writes here; remove what has its name, or use "
              "another directory");
}

FileDescriptor open_lock_file(const std::string& path) {
  while (true) {
    // O_NONBLOCK: opening a named pipe must not wait.
    FileDescriptor file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (file) return file;
    switch (errno) {
      case EINTR:
        continue;
      case ELOOP:
        refuse(path, "is a symbolic link and not a lock file");
      case EISDIR:
        refuse(path, "is a directory and not a lock file");
      default:
        throw file_error(errno, "open the lock file", path);
    }
  }
}

// Refuses a file that someone else put there, because the holder's name is written over its text.
void require_lock_file(const std::string& path, int fd) {
  struct ::stat opened;
  if (::fstat(fd, &opened) != 0) throw file_error(errno, "look it up", path);
  if (!S_ISREG(opened.st_mode)) refuse(path, "is not a regular file and so not a lock file");
  if (opened.st_nlink > 1) refuse(path, "has another name, by a hard link, and is not a lock file");
  if (opened.st_size > 0 && !first_bytes(fd).starts_with(kMark)) {
    refuse(path, "holds other data and is not a lock file");
  }
}

bool has_no_locks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

}  // namespace

FileLock::FileLock(std::string path, FileDescriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

FileLock::~FileLock() {
  if (!path_.empty() && is_current(path_, file_.get())) ::unlink(path_.c_str());
}

void FileLock::require_held() const {
  if (is_current(path_, file_.get())) return;
  const FileDescriptor there(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!there && (errno == ENOENT || errno == ENOTDIR)) {
    throw Error(Code::kNotFound, "was removed while the job ran, with the files beside it", path_,
                "start the job again, in a directory that stays");
  }
  // Some file systems give a file a new number. The text of another process is a sure sign.
  const std::string text = there ? first_bytes(there.get()) : "";
  if (text.empty() || text == first_bytes(file_.get())) return;
  throw Error(Code::kInUse, cat("another process has taken the directory: ", text), path_,
              "wait until it ends, stop it, or use another directory");
}

std::optional<std::string> FileLock::holder_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct ::stat opened;
  if (!file || ::fstat(file.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) return std::nullopt;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  const std::string text = first_bytes(file.get());
  if (!text.starts_with(kMark) || !text.ends_with(kEnd)) return "a process that it does not name";
  return text.substr(kMark.size(), text.size() - kMark.size() - kEnd.size());
}

std::string FileLock::text_of(const std::string& holder) { return cat(kMark, holder, kEnd); }

std::optional<FileLock> FileLock::take(const std::string& path, const std::string& holder) {
  while (true) {
    FileDescriptor file = open_lock_file(path);
    require_lock_file(path, file.get());
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (has_no_locks(error)) return std::nullopt;
      if (error != EWOULDBLOCK) throw file_error(error, "lock it", path);
      throw Error(Code::kInUse, cat("another process holds it: ", first_bytes(file.get())), path,
                  "wait until it ends, stop it, or use another directory");
    }
    if (!is_current(path, file.get())) continue;
    // The text only informs people. The lock is valid even if the text could not be written.
    const std::string text = text_of(holder);
    [[maybe_unused]] const bool is_written =
        ::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), text.data(), text.size(), 0) >= 0;
    return FileLock(path, std::move(file));
  }
}

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
