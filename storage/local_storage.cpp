#include "storage/local_storage.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"
#include "storage/local_file.h"

namespace berth {
namespace {

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
    return make_local_sink(local_path(uri), options);
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
