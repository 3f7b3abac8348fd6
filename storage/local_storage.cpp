#include "storage/local_storage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <set>
#include <utility>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/spill_file.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"

namespace berth {

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

namespace {

class MappedFile final : public RandomAccessSource {
 public:
  MappedFile(int fd, size_t size, const std::string& path) : path_(path) {
    if (size == 0) return;  // mmap refuses an empty range
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) throw file_error(errno, "map", path);
    bytes_ = {static_cast<const std::byte*>(address), size};
  }

  ~MappedFile() override {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  uint64_t size() const override { return bytes_.size(); }

  void read_at(uint64_t offset, std::span<std::byte> buffer) override {
    if (offset > bytes_.size() || buffer.size() > bytes_.size() - offset) {
      throw Error(Code::kCorrupt,
                  cat("ends at byte ", bytes_.size(), ", before ", offset, " + ", buffer.size()),
                  path_, "fetch it again");
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), buffer.size(), buffer.begin());
  }

  std::optional<Bytes> view() const override { return bytes_; }

  void release(uint64_t offset, uint64_t size) override { release_pages(bytes_, offset, size); }

 private:
  const std::string path_;
  Bytes bytes_;
};

// Maps the file that `fd` has open into memory, read-only. Returns null if it is not a regular
// file.
std::unique_ptr<RandomAccessSource> map_open_file(int fd, const std::string& path) {
  struct ::stat status;
  if (::fstat(fd, &status) != 0) throw file_error(errno, "look it up", path);
  if (S_ISDIR(status.st_mode)) throw file_error(EISDIR, "read", path);
  if (!S_ISREG(status.st_mode)) return nullptr;
  return std::make_unique<MappedFile>(fd, static_cast<size_t>(status.st_size), path);
}

}  // namespace

std::unique_ptr<RandomAccessSource> map_file(const std::filesystem::path& path) {
  const FileDescriptor fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd) throw file_error(errno, "read", path.string());
  auto mapped = map_open_file(fd.get(), path.string());
  if (mapped == nullptr) {
    throw Error(Code::kBadData, "is a device or a pipe, which cannot be mapped", path.string(),
                "name a regular file");
  }
  return mapped;
}

namespace {

// Memory, lengths and places in the file are multiples of it. It is at least the logical block of
// every common disk.
constexpr size_t kBlock = 4096;
constexpr size_t kBuffer = size_t{1} << 20;

bool set_direct(int fd, bool is_direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && ::fcntl(fd, F_SETFL, wanted) == 0;
}

}  // namespace

UncachedWriter::UncachedWriter(int fd, std::string path)
    : fd_(fd),
      path_(std::move(path)),
      buffer_(static_cast<std::byte*>(std::aligned_alloc(kBlock, kBuffer))),
      is_direct_(set_direct(fd, true)) {
  if (!buffer_) throw std::bad_alloc();
}

void UncachedWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kBuffer - filled_);
    std::memcpy(buffer_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ == kBuffer) write_blocks(kBuffer);
  }
}

void UncachedWriter::finish() {
  write_blocks(filled_ - filled_ % kBlock);
  use_page_cache();
  write_blocks(filled_);
}

// Writes the first `size` bytes of the buffer and moves the others to its beginning.
void UncachedWriter::write_blocks(size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t count =
        uninterrupted([&] { return ::write(fd_, buffer_.get() + done, size - done); });
    if (count < 0 && errno == EINVAL && is_direct_) {
      use_page_cache();  // the file system asks for other multiples
      continue;
    }
    if (count < 0) throw file_error(errno, "write", path_);
    done += static_cast<size_t>(count);
    if (done % kBlock != 0) use_page_cache();  // a full disk, perhaps, has cut a block
  }
  filled_ -= size;
  std::memmove(buffer_.get(), buffer_.get() + size, filled_);
}

void UncachedWriter::use_page_cache() {
  if (std::exchange(is_direct_, false)) set_direct(fd_, false);
}

namespace {

constexpr std::string_view kSuffix = ".part";
constexpr size_t kRandomLetters = 6;

// Whether this is the name of a temporary file that a sink is writing, or that a killed process
// left.
bool is_unfinished(std::string_view file_name) {
  constexpr size_t kTail = 1 + kRandomLetters + kSuffix.size();
  return file_name.size() > 1 + kTail && file_name.front() == '.' && file_name.ends_with(kSuffix) &&
         file_name[file_name.size() - kTail] == '.';
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

}  // namespace

std::string temporary_prefix(const std::string& path) {
  constexpr size_t kLongestName = 200;  // bytes of NAME: a file name has at most 255 bytes
  return cat(".", std::filesystem::path(path).filename().string().substr(0, kLongestName), ".");
}

void remove_unfinished(const std::string& directory) { remove_abandoned(directory, "."); }

namespace {

// A hash of (inode, size, mtime in ns). Never 0, because 0 means "absent" in a precondition.
Generation generation_of(const struct ::stat& status) {
  uint64_t hash = mixed_bits(static_cast<uint64_t>(status.st_ino));
  hash = mixed_bits(hash ^ static_cast<uint64_t>(status.st_size));
  hash = mixed_bits(hash ^ static_cast<uint64_t>(status.st_mtim.tv_sec));
  hash = mixed_bits(hash ^ static_cast<uint64_t>(status.st_mtim.tv_nsec));
  return hash == 0 ? 1 : hash;
}

// Throws kInUse unless the file at `path` has generation `expected` now. 0 means that it is absent.
void require_generation(const std::string& path, Generation expected) {
  struct ::stat status;
  const bool present = ::stat(path.c_str(), &status) == 0;
  if (!present && errno != ENOENT) throw file_error(errno, "look it up", path);
  const Generation actual = present ? generation_of(status) : 0;
  if (actual == expected) return;
  throw Error(Code::kInUse, expected == 0 ? "exists already" : "was replaced or removed meanwhile",
              path, "another process writes here; stop one of them or name another directory");
}

// An advisory lock on the directory of `path`. It is held while a precondition is checked and acted
// upon, so that two processes of this program on this machine cannot both succeed. On a file system
// without locks, another process may still write between the check and the rename, and so may
// another machine.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path)
      : fd_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_) uninterrupted([this] { return ::flock(fd_.get(), LOCK_EX); });
  }

 private:
  const FileDescriptor fd_;
};

// A file, whatever its name: its device and number.
using FileId = std::pair<dev_t, ino_t>;
FileId id_of(const struct ::stat& status) { return {status.st_dev, status.st_ino}; }

FileDescriptor open_to_read(const std::string& path, int more) {
  FileDescriptor fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | more); }));
  if (!fd) throw file_error(errno, "read", path);
  return fd;
}

class LocalSource final : public ByteSource {
 public:
  LocalSource(const std::string& path, const ReadOptions& options, const std::set<FileId>& pipes)
      : path_(path), left_(options.length.value_or(UINT64_MAX)) {
    fd_ = open_to_read(path, O_NONBLOCK);
    struct ::stat status;
    if (::fstat(fd_.get(), &status) != 0) throw file_error(errno, "look it up", path_);
    if (S_ISDIR(status.st_mode)) throw file_error(EISDIR, "read", path_);
    if (!S_ISREG(status.st_mode)) {
      const bool is_pipe = S_ISFIFO(status.st_mode);
      if (!path.starts_with("/dev/") && !path.starts_with("/proc/") &&
          !pipes.contains(id_of(status))) {
        throw Error(Code::kBadData,
                    cat("is a ", is_pipe ? "named pipe" : "device", ", where a file is expected"),
                    path_, "remove it, or name it on the command line if it is an input");
      }
      if (is_pipe) fd_ = open_to_read(path, 0);  // waits for a writer
    }
    if (options.generation && generation_of(status) != *options.generation) {
      throw Error(Code::kNotFound, "was replaced since it was looked up", path_,
                  "start again, and leave input files alone while a job reads them");
    }
    if (options.offset != 0) seek(options.offset, status);
    ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  size_t read(std::span<std::byte> buffer) override {
    const size_t wanted = std::min<uint64_t>(buffer.size(), left_);
    if (wanted == 0) return 0;
    while (true) {
      const ssize_t count = ::read(fd_.get(), buffer.data(), wanted);
      if (count >= 0) {
        left_ -= static_cast<uint64_t>(count);
        return static_cast<size_t>(count);
      }
      if (errno != EINTR) throw file_error(errno, "read", path_);
    }
  }

  std::unique_ptr<RandomAccessSource> map() override { return map_open_file(fd_.get(), path_); }

 private:
  void seek(uint64_t offset, const struct ::stat& status) {
    if (!S_ISREG(status.st_mode)) {
      throw Error(Code::kBadData, "is a device or a pipe, which can only be read from its start",
                  path_, "name a regular file");
    }
    const auto size = static_cast<uint64_t>(status.st_size);
    if (::lseek(fd_.get(), static_cast<off_t>(std::min(offset, size)), SEEK_SET) < 0) {
      throw file_error(errno, "read", path_);
    }
  }

  const std::string path_;
  uint64_t left_;
  FileDescriptor fd_;
};

bool is_absence(int number) { return number == ENOENT || number == ENOTDIR; }

std::optional<Stat> stat_of(const std::string& path) {
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) {
    if (is_absence(errno)) return std::nullopt;
    throw file_error(errno, "look it up", path);
  }
  if (S_ISDIR(status.st_mode)) return std::nullopt;
  return Stat{.name = path,
              .size = static_cast<uint64_t>(status.st_size),
              .generation = generation_of(status),
              .crc32c = std::nullopt};
}

const std::string& local_path(const Uri& uri) {
  if (!uri.is_local()) throw Error(Code::kInternal, "not a local path", uri.to_string());
  return uri.path();
}

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
  // does the same. A mounted bucket has no hard links either; there, a check precedes the rename.
  void rename_to_new() {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
      return;
    }
    if (is_unsupported(errno)) {
      if (::link(temporary_.c_str(), path_.c_str()) == 0) return;  // the destructor unlinks
      if (is_unsupported(errno)) {
        require_generation(path_, 0);
        return rename_over();
      }
    }
    if (errno == EEXIST) require_generation(path_, 0);
    throw file_error(errno, "write", path_);
  }

  // What file systems without hard links answer (link(2)), and drivers that lack the call.
  static bool is_unsupported(int error) {
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM ||
           error == EMLINK;
  }

  const std::string path_;
  const std::optional<Generation> if_generation_;
  std::string temporary_;  // empty after the rename
  FileDescriptor fd_;
  std::optional<UncachedWriter> uncached_;
  uint32_t crc_ = 0;
};

class LocalStorage final : public Storage {
 public:
  explicit LocalStorage(const std::vector<std::string>& pipes) {
    struct ::stat status;
    for (const std::string& path : pipes) {
      if (::stat(path.c_str(), &status) == 0) pipes_.insert(id_of(status));
    }
  }

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return std::make_unique<LocalSource>(local_path(uri), options, pipes_);
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return std::make_unique<LocalSink>(local_path(uri), options);
  }

  std::optional<Stat> stat(const Uri& uri) override { return stat_of(local_path(uri)); }

  // Links to files are followed. Links to directories are not, because they may form loops.
  std::vector<Stat> list(const Uri& prefix, size_t /*enough*/) override {
    std::vector<Stat> found;
    std::vector<Uri> directories{prefix};
    while (!directories.empty()) {
      const Uri directory = directories.back();
      directories.pop_back();
      std::error_code error;
      std::filesystem::directory_iterator entry = entries_of(local_path(directory), error);
      for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::error_code ignored;  // an entry that vanished meanwhile is left out
        if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
          directories.push_back(directory / name);
        } else if (entry->is_regular_file(ignored) && !is_unfinished(name)) {
          if (auto stat = stat_of((directory / name).path())) found.push_back(std::move(*stat));
        }
      }
      if (error && !is_absence(error.value())) {
        throw file_error(error.value(), "list", directory.to_string());
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Stat& a, const Stat& b) { return a.name < b.name; });
    return found;
  }

  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    const std::string& path = local_path(uri);
    if (path.ends_with('/')) return remove_directory(path);
    std::optional<DirectoryLock> lock;
    if (if_generation) {
      lock.emplace(path);
      if (!stat_of(path)) return;
      require_generation(path, *if_generation);
    }
    if (::unlink(path.c_str()) == 0 || is_absence(errno)) return;
    const int number = errno;
    struct ::stat status;
    const bool directory = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    throw file_error(directory ? EISDIR : number, "remove", path);
  }

 private:
  static void remove_directory(const std::string& path) {
    if (::rmdir(path.c_str()) == 0 || is_absence(errno) || errno == ENOTEMPTY || errno == EEXIST) {
      return;
    }
    throw file_error(errno, "remove", path);
  }

  std::set<FileId> pipes_;
};

}  // namespace

std::unique_ptr<Storage> make_local_storage(const std::vector<std::string>& pipes) {
  return std::make_unique<LocalStorage>(pipes);
}

}  // namespace berth
