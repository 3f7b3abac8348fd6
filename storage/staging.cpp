#include "storage/staging.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"
#include "storage/local_file.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWriteStep = size_t{1} << 16;

void sync_file(const fs::path& path) {
  const FileDescriptor fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
  if (!fd || uninterrupted([&] { return ::fsync(fd.get()); }) != 0) {
    throw file_error(errno, "write to disk", path.string());
  }
}

}  // namespace

Staging::Staging(const fs::path& target) : target_(target) {
  const std::string parent = directory_of(target_.string());
  make_directories(parent);
  path_ = fs::path(parent) / cat(temporary_prefix(target_.string()), random_letters(6), ".part");
  if (::mkdir(path_.c_str(), 0700) != 0 || ::mkdir(content().c_str(), 0700) != 0) {
    const int number = errno;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    throw file_error(number, "make the directory", target_.string());
  }
}

Staging::~Staging() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

uint64_t Staging::write(const fs::path& path,
                        const std::function<size_t(std::span<std::byte>)>& read) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) throw file_error(error.value(), "make the directory", path.parent_path().string());
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const FileDescriptor fd(uninterrupted([&] { return ::open(path.c_str(), flags, 0666); }));
  if (!fd) throw file_error(errno, "write", path.string());
  std::array<std::byte, kWriteStep> buffer;
  uint64_t total = 0;
  while (const size_t size = read(buffer)) {
    write_all(fd.get(), Bytes(buffer).first(size), path.string());
    total += size;
  }
  return total;
}

void Staging::publish() {
  for (const auto& entry : fs::recursive_directory_iterator(content())) {
    if (entry.is_directory()) {
      sync_directory(entry.path().string());
    } else {
      sync_file(entry.path());
    }
  }
  sync_directory(content().string());
  if (std::rename(content().c_str(), target_.c_str()) != 0) {
    throw file_error(errno, "make the directory", target_.string());
  }
  sync_directory(directory_of(target_.string()));
}

}  // namespace berth
