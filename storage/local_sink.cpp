#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"
#include "storage/local_file.h"
#include "storage/uncached_writer.h"

namespace berth {
namespace {

constexpr std::string_view kSuffix = ".part";
constexpr size_t kRandomLetters = 6;
// A file from this size on is written past the page cache if it is not read soon.
constexpr uint64_t kLarge = uint64_t{1} << 18;

void require_replaceable(const std::string& path) {
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) throw file_error(EISDIR, "write", path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kBadData, "is a device or a pipe, which cannot be replaced", path,
                "name a regular file");
  }
}

// Removes abandoned files in `directory` whose names begin with `prefix`.
void remove_abandoned(const std::string& directory, std::string_view prefix) {
  std::error_code error;
  std::filesystem::directory_iterator entry = entries_of(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || !is_unfinished(name)) continue;
    const FileDescriptor fd(
        ::open(entry->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

class LocalSink final : public ByteSink {
 public:
  LocalSink(const std::string& path, const WriteOptions& options)
      : path_(path), if_generation_(options.if_generation) {
    require_replaceable(path_);
    if (if_generation_) require_generation(path_, *if_generation_);
    make_directories(directory_of(path_));
    remove_abandoned(directory_of(path_), temporary_prefix(path_));
    open_temporary();
    if (options.size_hint.value_or(0) > 0) reserve(*options.size_hint);
    if (!options.is_read_soon && options.size_hint.value_or(0) >= kLarge) {
      uncached_.emplace(fd_.get(), path_);
    }
  }

  ~LocalSink() override {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void write(Bytes bytes) override {
    crc_ = crc32c(bytes, crc_);
    if (uncached_) {
      uncached_->write(bytes);
    } else {
      write_all(fd_.get(), bytes, path_);
    }
  }

  Stat close() override {
    if (uncached_) uncached_->finish();
    if (uninterrupted([this] { return ::fsync(fd_.get()); }) != 0) {
      throw file_error(errno, "write to disk", path_);
    }
    struct ::stat status;
    if (::fstat(fd_.get(), &status) != 0) throw file_error(errno, "look it up", path_);
    publish();
    sync_directory(directory_of(path_));
    return {.name = path_,
            .size = static_cast<uint64_t>(status.st_size),
            .generation = generation_of(status),
            .crc32c = crc_};
  }

 private:
  void open_temporary() {
    const std::filesystem::path path(path_);
    while (!fd_) {
      temporary_ = (path.parent_path() /
                    cat(temporary_prefix(path_), random_letters(kRandomLetters), kSuffix))
                       .string();
      // 0666 minus the umask gives the usual permissions. mkstemp's 0600 would lock other readers
      // out.
      fd_ =
          FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!fd_ && errno != EEXIST && errno != EINTR) {
        const int number = errno;
        temporary_.clear();
        throw file_error(number, "write", path_);
      }
      if (fd_ && !hold()) fd_ = FileDescriptor();
    }
  }

  // Locks the temporary file. Returns false if another process took it for abandoned and removed it
  // just before. On file systems without locks it is simply not locked.
  bool hold() const {
    uninterrupted([this] { return ::flock(fd_.get(), LOCK_EX); });
    struct ::stat status;
    return ::fstat(fd_.get(), &status) != 0 || status.st_nlink > 0;
  }

  // Reserves disk space, so that a full disk is noticed before hours of work. File systems that
  // cannot reserve are accepted.
  void reserve(uint64_t size) {
    constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
    const auto length = static_cast<off_t>(std::min(size, kMost));
    const int failed =
        uninterrupted([&] { return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, length); });
    if (failed == 0) return;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
      const int number = errno;
      ::unlink(temporary_.c_str());
      throw file_error(number, cat("write ", human_bytes(size)), path_);
    }
  }

  void publish() {
    if (!if_generation_) {
      rename_over();
      return;
    }
    const DirectoryLock lock(path_);
    require_generation(path_, *if_generation_);
    if (*if_generation_ == 0) {
      rename_to_new();
    } else {
      rename_over();
    }
  }

  void rename_over() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw file_error(errno, "write", path_);
    }
    temporary_.clear();
  }

  // Renames without ever replacing an existing file. Where renameat2 is not supported, a hard link
  // does the same.
  void rename_to_new() {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
      return;
    }
    if (errno == EINVAL || errno == ENOSYS) {
      if (::link(temporary_.c_str(), path_.c_str()) == 0) return;  // the destructor unlinks
    }
    if (errno == EEXIST) require_generation(path_, 0);
    throw file_error(errno, "write", path_);
  }

  const std::string path_;
  const std::optional<Generation> if_generation_;
  std::string temporary_;  // empty after the rename
  FileDescriptor fd_;
  std::optional<UncachedWriter> uncached_;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSink> make_local_sink(const std::string& path, const WriteOptions& options) {
  return std::make_unique<LocalSink>(path, options);
}

std::string temporary_prefix(const std::string& path) {
  constexpr size_t kLongestName = 200;  // bytes of NAME: a file name has at most 255 bytes
  return cat(".", std::filesystem::path(path).filename().string().substr(0, kLongestName), ".");
}

void remove_unfinished(const std::string& directory) { remove_abandoned(directory, "."); }

bool is_unfinished(std::string_view file_name) {
  constexpr size_t kTail = 1 + kRandomLetters + kSuffix.size();
  return file_name.size() > 1 + kTail && file_name.front() == '.' && file_name.ends_with(kSuffix) &&
         file_name[file_name.size() - kTail] == '.';
}

}  // namespace berth
