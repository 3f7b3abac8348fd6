#include "storage/hub/hub_download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "storage/base/clock.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"
#include "storage/http/body_part.h"
#include "storage/hub/content_hash.h"
#include "storage/local_file.h"

namespace berth {
namespace {

constexpr size_t kStep = size_t{1} << 20;
constexpr int kMostDownloads = 2;  // of a file whose bytes have another hash
constexpr const char* kWrong = "the bytes that arrived do not have the file's checksum";

FileDescriptor open_for_writing(const std::string& path) {
  make_directories(directory_of(path));
  FileDescriptor file(uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); }));
  if (!file) throw file_error(errno, "open for writing", path);
  return file;
}

// The lock that huggingface_hub takes (of the package filelock). It ends with the process or with
// the object. A file system without locks has none.
FileDescriptor lock(const std::string& path, const RetryOptions& retry) {
  FileDescriptor file = open_for_writing(path);
  bool has_logged = false;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    if (retry.gives_up && retry.gives_up()) throw Error(Code::kStopped, "stopped", path);
    if (!std::exchange(has_logged, true))
      log_info(cat("another process fetches ", path, ": waiting"));
    retry.sleep(0.2);
  }
  return file;
}

// The beginning of a file's content on disk. It grows.
class Incomplete {
 public:
  Incomplete(std::string path, const HubFile& file)
      : path_(std::move(path)), file_(file), out_(open_for_writing(path_)) {
    struct stat status;
    if (::fstat(out_.get(), &status) != 0) throw file_error(errno, "look at", path_);
    if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) > file.size) {
      restart();
    } else {
      read_again(static_cast<uint64_t>(status.st_size));
    }
  }

  uint64_t size() const { return size_; }

  void restart() {
    if (::ftruncate(out_.get(), 0) != 0) throw file_error(errno, "write", path_);
    hash_ = ContentHash(file_.hash, file_.size);
    size_ = 0;
  }

  void append(Bytes bytes) {
    hash_.update(bytes);
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(out_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw file_error(count < 0 ? errno : ENOSPC, "write", path_);
      size_ += static_cast<uint64_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  // Whether the content, which is complete, has its hash. Call it once before restart().
  bool is_right() { return hash_.finish() == file_.hash; }

  void become(const std::string& path) {
    if (uninterrupted([this] { return ::fsync(out_.get()); }) != 0) {
      throw file_error(errno, "write", path_);
    }
    if (::rename(path_.c_str(), path.c_str()) != 0) throw file_error(errno, "make", path);
    sync_directory(directory_of(path));
  }

 private:
  // Takes the first `size` bytes, which an earlier process wrote, into the hash.
  void read_again(uint64_t size) {
    std::vector<std::byte> buffer(kStep);
    while (size_ < size) {
      const ssize_t count =
          ::pread(out_.get(), buffer.data(), buffer.size(), static_cast<off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw file_error(count < 0 ? errno : EIO, "read", path_);
      hash_.update(Bytes(buffer).first(static_cast<size_t>(count)));
      size_ += static_cast<uint64_t>(count);
    }
  }

  const std::string path_;
  const HubFile& file_;
  FileDescriptor out_;
  ContentHash hash_{file_.hash, file_.size};
  uint64_t size_ = 0;
};

// Makes one attempt to fetch what is missing. Throws kUnavailable if less arrives. Bytes are
// progress where they come behind the `most` that have been there: a server that begins again at
// each attempt makes no progress.
void fetch_rest(HubRequests& requests, const HubPath& path, const std::string& commit,
                const HubFile& file, Incomplete& incomplete, uint64_t& most, Retry& retry,
                const std::stop_token& stop) {
  if (incomplete.size() == file.size) return;
  const std::unique_ptr<HttpStream> answer =
      requests.open(path, commit, file, incomplete.size(), stop);
  if (answer->status() == 200) {
    incomplete.restart();
  } else if (const auto range = content_range(answer->headers());
             !range || range->begin != incomplete.size()) {
    throw Error(Code::kUnavailable, "the hub sent another part than the requested one",
                cat(path.repository_uri(), "/", file.path));
  }
  std::vector<std::byte> buffer(kStep);
  while (const size_t count = answer->read(buffer)) {
    if (incomplete.size() + count > file.size) {
      incomplete.restart();
      throw Error(Code::kUnavailable, "the hub sent more bytes than the file has",
                  cat(path.repository_uri(), "/", file.path));
    }
    incomplete.append(Bytes(buffer).first(count));
    if (incomplete.size() <= most) continue;
    most = incomplete.size();
    retry.progress();
  }
  if (incomplete.size() < file.size) {
    throw Error(Code::kUnavailable, "the hub sent fewer bytes than the file has",
                cat(path.repository_uri(), "/", file.path));
  }
}

void download_blob(HubRequests& requests, const std::string& blob, const HubPath& path,
                   const std::string& commit, const HubFile& file, const RetryOptions& options,
                   const std::stop_token& stop) {
  const std::string name = cat(path.repository_uri(), "/", file.path);
  Incomplete incomplete(blob + ".incomplete", file);
  if (incomplete.size() > 0) {
    log_info(cat(name, ": going on after ", human_bytes(incomplete.size())));
  }
  Retry retry(options, cat("read ", name), stop);
  uint64_t most = incomplete.size();
  for (int downloads = 0; downloads < kMostDownloads;) {
    try {
      fetch_rest(requests, path, commit, file, incomplete, most, retry, stop);
    } catch (const Error& error) {
      retry.wait(error);
      continue;
    }
    if (incomplete.is_right()) return incomplete.become(blob);
    incomplete.restart();
    most = 0;
    if (++downloads < kMostDownloads)
      log_warning(cat(name, ": ", kWrong, "; fetching it once more"));
  }
  throw Error(Code::kUnavailable, kWrong, name,
              "try again later; the hub, or a proxy before it, is at fault");
}

}  // namespace

std::string download(HubRequests& requests, const HubCache& cache, const HubPath& path,
                     const std::string& commit, const HubFile& file, const RetryOptions& retry,
                     const std::stop_token& stop) {
  const FileDescriptor held = lock(cache.lock_file(path, file), retry);
  if (const auto found = cache.find(path, commit, file)) return *found;
  const std::string blob = cache.blob(path, file);
  struct stat status;
  const bool has_blob = ::stat(blob.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                        static_cast<uint64_t>(status.st_size) == file.size;
  if (!has_blob) {
    const double start_s = steady_clock_s();
    download_blob(requests, blob, path, commit, file, retry, stop);
    log_info(cat("fetched ", path.repository_uri(), "/", file.path, ", ", human_bytes(file.size),
                 " in ", static_cast<int64_t>(steady_clock_s() - start_s + 0.5), " s"));
  }
  cache.link(path, commit, file);
  if (const auto found = cache.find(path, commit, file)) return *found;
  throw Error(Code::kCorrupt, "the file that was just fetched is gone", blob, "try again");
}

}  // namespace berth
