#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "storage/base/error.h"

// System calls on files: an owner of a descriptor, calls that signals interrupt, and Errors from
// errno. A FileDescriptor belongs to one thread; the functions are thread-safe. Only what Call
// throws is thrown.
namespace berth {

// Owns an open file descriptor, or -1.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Makes a system call, and makes it again as long as a signal interrupts it (EINTR). Network file
// systems and those in user space interrupt calls that others never do, such as fsync(). Returns
// what the last call returned.
template <typename Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// The entries of a directory, as std::filesystem::directory_iterator begins them. Opening it is a
// system call that is made again where a signal interrupts it.
inline std::filesystem::directory_iterator entries_of(const std::filesystem::path& directory,
                                                      std::error_code& error) {
  std::filesystem::directory_iterator entries(directory, error);
  while (error == std::errc::interrupted) {
    entries = std::filesystem::directory_iterator(directory, error);
  }
  return entries;
}

// Converts the errno of a failed system call (`number`) to an Error. `action` completes the
// sentence "cannot ..." ("open for writing"). `path` is the file concerned.
Error file_error(int number, const std::string& action, const std::string& path);

}  // namespace berth
