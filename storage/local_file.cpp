#include "storage/local_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "storage/base/error.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"

namespace berth {
namespace {

// splitmix64's finalizer (Steele, Lea and Flood 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

Generation generation_of(const struct ::stat& status) {
  uint64_t hash = mix(static_cast<uint64_t>(status.st_ino));
  hash = mix(hash ^ static_cast<uint64_t>(status.st_size));
  hash = mix(hash ^ static_cast<uint64_t>(status.st_mtim.tv_sec));
  hash = mix(hash ^ static_cast<uint64_t>(status.st_mtim.tv_nsec));
  return hash == 0 ? 1 : hash;
}

void require_generation(const std::string& path, Generation expected) {
  struct ::stat status;
  const bool present = ::stat(path.c_str(), &status) == 0;
  if (!present && errno != ENOENT) throw file_error(errno, "look it up", path);
  const Generation actual = present ? generation_of(status) : 0;
  if (actual == expected) return;
  throw Error(Code::kInUse, expected == 0 ? "exists already" : "was replaced or removed meanwhile",
              path, "another process writes here; stop one of them or name another directory");
}

DirectoryLock::DirectoryLock(const std::string& path)
    : fd_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (fd_ < 0) return;
  uninterrupted([this] { return ::flock(fd_, LOCK_EX); });
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

void write_all(int fd, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (count < 0) throw file_error(errno, "write", path);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void sync_directory(const std::string& directory) {
  const FileDescriptor fd(
      uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd && uninterrupted([&] { return ::fsync(fd.get()); }) == 0) return;
  switch (errno) {
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      throw file_error(errno, "sync the directory", directory);
    default:
      return;
  }
}

void make_directories(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::is_directory(directory, error)) return;
  const std::string parent = directory_of(directory);
  if (parent != directory) make_directories(parent);
  std::filesystem::create_directory(directory, error);
  // mkdir says EEXIST of a file that has the directory's name.
  const int number = error.value() == EEXIST ? ENOTDIR : error.value();
  if (error) throw file_error(number, "make the directory", directory);
  sync_directory(parent);
}

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace berth
