#include "storage/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_error.h"

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
    throw Error(Code::kNotFound, "was removed while the job ran, with what was beside it", path_,
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

}  // namespace berth
