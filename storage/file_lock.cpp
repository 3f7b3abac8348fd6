#include "storage/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string first_bytes(int fd) {
  char text[256];
  const ssize_t read = ::pread(fd, text, sizeof text, 0);
  return std::string(text, read > 0 ? static_cast<size_t>(read) : 0);
}

// Whether `path` still names the opened file. The previous holder may have removed it meanwhile.
bool is_current(const std::string& path, int fd) {
  struct ::stat opened, named;
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(std::string path, FileDescriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

FileLock::~FileLock() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<FileLock> FileLock::take(const std::string& path, const std::string& holder) {
  while (true) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return std::nullopt;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return std::nullopt;
      throw Error(Code::kInUse, cat("another process holds it: ", first_bytes(file.get())), path,
                  "wait until it ends, stop it, or use another directory");
    }
    if (!is_current(path, file.get())) continue;
    // The text only informs people. The lock is valid even if the text could not be written.
    [[maybe_unused]] const bool told = ::ftruncate(file.get(), 0) == 0 &&
                                       ::pwrite(file.get(), holder.data(), holder.size(), 0) >= 0;
    return FileLock(path, std::move(file));
  }
}

}  // namespace berth
