#include "storage/hub/hub_storage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "storage/base/checksum.h"
#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_lock.h"
#include "storage/http/http_storage.h"
#include "storage/hub/content_hash.h"
#include "storage/hub/hub_requests.h"
#include "storage/local_storage.h"
#include "storage/retry.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Empty where there is none. A named pipe would wait for a writer.
std::string read_line(const fs::path& path) {
  std::string line;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) std::getline(std::ifstream(path), line);
  return std::string(trimmed(line));
}

// Replaces `path` in one step.
void rename_to(const std::string& from, const fs::path& path) {
  if (::rename(from.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(from.c_str());
    throw file_error(number, "make", path.string());
  }
}

std::string beside(const fs::path& path) {
  return (path.parent_path() / cat(".", path.filename().string(), ".", random_letters(8))).string();
}

FileDescriptor open_for_writing(const std::string& path) {
  make_directories(directory_of(path));
  FileDescriptor file(uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); }));
  if (!file) throw file_error(errno, "open for writing", path);
  return file;
}

// The cache of the huggingface_hub package, so that each program finds what the other one fetched:
//
//   models--ORG--NAME/refs/REVISION             the commit of a branch or tag, as text
//   models--ORG--NAME/snapshots/COMMIT/PATH     a link to
//   models--ORG--NAME/blobs/HASH                the content
//   models--ORG--NAME/blobs/HASH.incomplete     the beginning of the content
//   .locks/models--ORG--NAME/HASH.lock          held by who writes HASH.incomplete
//   models--ORG--NAME/.berth/COMMIT             berth's own: the names of all files of the commit
//
// Thread-safe. Several processes may use a cache at the same time.
class HubCache {
 public:
  explicit HubCache(fs::path root) : root_(std::move(root)) {}

  // Makes the folder if it is absent.
  bool can_be_written() const {
    if (root_.empty()) return false;
    try {
      make_directories(root_.string());
    } catch (const Error&) {
      return false;
    }
    return ::access(root_.c_str(), W_OK | X_OK) == 0;
  }

  // What the cache knows of the repository at `path.revision`: all files if it has their list,
  // else the files that it holds, without their hashes. nullopt if it knows no commit of that
  // revision.
  std::optional<HubSnapshot> snapshot(const HubPath& path) const {
    if (root_.empty()) return std::nullopt;
    HubSnapshot snapshot{.commit = read_line(folder(path) / "refs" / path.revision), .files = {}};
    if (!is_commit(snapshot.commit)) snapshot.commit = path.revision;
    if (!is_commit(snapshot.commit)) return std::nullopt;
    const fs::path root = snapshot_folder(path, snapshot.commit);
    std::error_code error;
    if (!fs::is_directory(root, error)) return std::nullopt;
    if (auto whole = read_list(path, snapshot.commit)) return whole;
    snapshot.is_whole = false;
    for (fs::recursive_directory_iterator entry(root, error), end; entry != end && !error;
         entry.increment(error)) {
      std::error_code unreadable;  // a link to a blob that is gone
      if (!entry->is_regular_file(unreadable) || unreadable) continue;
      snapshot.files.push_back({.path = entry->path().lexically_relative(root).generic_string(),
                                .size = entry->file_size(unreadable),
                                .hash = ""});
    }
    std::ranges::sort(snapshot.files, {}, &HubFile::path);
    return snapshot;
  }

  // The local file of `file`; nullopt if the cache does not hold it in its full size.
  std::optional<std::string> find(const HubPath& path, const std::string& commit,
                                  const HubFile& file) const {
    if (root_.empty()) return std::nullopt;
    const fs::path place = snapshot_folder(path, commit) / file.path;
    std::error_code error;
    if (!fs::is_regular_file(place, error) || fs::file_size(place, error) != file.size || error) {
      return std::nullopt;
    }
    return place.string();
  }

  // Records that `path.revision` is `commit` now.
  void remember(const HubPath& path, const std::string& commit) const {
    if (path.revision == commit) return;
    const fs::path place = folder(path) / "refs" / path.revision;
    if (read_line(place) == commit) return;
    make_directories(place.parent_path().string());
    const std::string temporary = beside(place);
    std::ofstream out(temporary, std::ios::binary);
    out << commit;
    out.close();
    if (!out) throw file_error(errno, "write", place.string());
    rename_to(temporary, place);
  }

  // Keeps the list of a whole snapshot. That helps only a job without a network, so a failure is no
  // error.
  void keep_list(const HubPath& path, const HubSnapshot& snapshot) const try {
    const fs::path place = list_file(path, snapshot.commit);
    std::error_code error;
    if (fs::exists(place, error) || !can_be_written()) return;
    make_directories(place.parent_path().string());
    const std::string temporary = beside(place);
    const std::string text = to_answer(snapshot);
    write_all(open_for_writing(temporary).get(), as_bytes(text), temporary);
    rename_to(temporary, place);
  } catch (const Error& error) {
    log_debug(cat("the list of files is not kept: ", error.what()));
  }

  // Whether a download into the cache was broken off, or is under way.
  bool has_incomplete(const HubPath& path) const {
    std::error_code error;
    fs::directory_iterator entry(folder(path) / "blobs", error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".incomplete") return true;
    }
    return false;
  }

  // Makes a file appear in the snapshot of `commit`. Its blob is complete.
  void link(const HubPath& path, const std::string& commit, const HubFile& file) const {
    const fs::path place = snapshot_folder(path, commit) / file.path;
    make_directories(place.parent_path().string());
    std::string target = "../../";
    for (const char c : file.path) target += c == '/' ? "../" : "";
    target += cat("blobs/", file.hash);
    const std::string temporary = beside(place);
    if (::symlink(target.c_str(), temporary.c_str()) != 0) {
      throw file_error(errno, "make a link", place.string());
    }
    rename_to(temporary, place);
  }

  std::string blob(const HubPath& path, const HubFile& file) const {
    return (folder(path) / "blobs" / file.hash).string();
  }

  std::string lock_file(const HubPath& path, const HubFile& file) const {
    return (root_ / ".locks" / path.cache_folder() / cat(file.hash, ".lock")).string();
  }

 private:
  fs::path folder(const HubPath& path) const { return root_ / path.cache_folder(); }
  fs::path snapshot_folder(const HubPath& path, const std::string& commit) const {
    return folder(path) / "snapshots" / commit;
  }
  fs::path list_file(const HubPath& path, const std::string& commit) const {
    return folder(path) / ".berth" / commit;
  }

  std::optional<HubSnapshot> read_list(const HubPath& path, const std::string& commit) const try {
    HubSnapshot snapshot =
        parse_snapshot(as_text(*map_file(list_file(path, commit))->view()), path);
    if (snapshot.commit != commit) return std::nullopt;
    return snapshot;
  } catch (const Error&) {  // there is none, or it is damaged
    return std::nullopt;
  }

  const fs::path root_;
};

constexpr size_t kStep = size_t{1} << 20;
constexpr int kMostDownloads = 2;  // of a file whose bytes have another hash
constexpr const char* kWrong = "the bytes that arrived do not have the file's checksum";

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

// Fetches a file into `cache`, unless another process does so meanwhile, and returns its local
// path. Goes on where an earlier attempt was interrupted. The content is compared with its hash
// before it appears. Failures that may pass are retried as `retry` says. Throws what
// HubRequests::open() throws, kUnavailable if what arrives has another hash in two downloads, and
// kNoSpace or kNotPermitted if the cache cannot be written.
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

constexpr int kMostLookUps = 4;
constexpr double kLongestLookUp_s = 30;

// Never 0, which would mean "absent" or "unknown".
Generation version_of(const std::string& commit, const std::string& path) {
  return std::max<uint64_t>(fnv1a(cat(commit, "/", path)), 1);
}

std::string how_to_download(const HubPath& path) {
  return cat("where there is a network, `hf download ",
             path.is_dataset ? "--repo-type dataset " : "", path.repository,
             path.revision == "main" ? "" : cat(" --revision ", path.revision),
             "` fills ~/.cache/huggingface, which HF_HOME may name here; or give a local folder");
}

class HubStorage final : public Storage {
 public:
  HubStorage(HttpClient& http, Storage& local, HubOptions options, const RetryOptions& retry)
      : local_(local),
        options_(std::move(options)),
        download_retry_(retry),
        look_up_retry_(retry),
        requests_(http, options_),
        shared_(options_.cache_dir) {
    look_up_retry_.max_attempts = std::min(retry.max_attempts, kMostLookUps);
    look_up_retry_.deadline_s = std::min(retry.deadline_s, kLongestLookUp_s);
  }

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    const HubPath path = HubPath::parse(uri);
    const HubSnapshot& snapshot = files_of(path);
    const HubFile* file = find(snapshot, path.path);
    if (file == nullptr ||
        (options.generation && *options.generation != version_of(snapshot.commit, file->path))) {
      throw Error(Code::kNotFound, "no such file on the hub", uri.to_string(),
                  cat("see ", options_.endpoint, "/", path.web_path(), "/tree/", path.revision));
    }
    const std::string local = local_file(path, snapshot, *file, options.stop);
    return local_.open(Uri().with_path(local),
                       {.offset = options.offset, .length = options.length, .stop = options.stop});
  }

  std::optional<Stat> stat(const Uri& uri) override {
    const HubPath path = HubPath::parse(uri);
    if (path.path.empty()) return std::nullopt;
    const HubSnapshot& snapshot = files_of(path);
    const HubFile* file = find(snapshot, path.path);
    if (file == nullptr) return std::nullopt;
    return stat_of(uri.to_string(), snapshot, *file);
  }

  std::vector<Stat> list(const Uri& prefix, size_t /*enough*/) override {
    HubPath path = HubPath::parse(prefix);
    const HubSnapshot& snapshot = files_of(path);
    if (!snapshot.is_whole && path.is_dataset && shared_.has_incomplete(path)) {
      throw Error(options_.offline ? Code::kNotFound : Code::kUnavailable,
                  "the cache of the hub holds a part of the data set: a download was broken off",
                  path.repository_uri(), how_to_download(path));
    }
    const std::string folder = path.path.empty() ? "" : path.path + "/";
    std::string root = prefix.to_string();
    while (root.ends_with('/')) root.pop_back();
    std::vector<Stat> found;
    for (const HubFile& file : snapshot.files) {
      if (!file.path.starts_with(folder)) continue;
      found.push_back(stat_of(cat(root, "/", file.path.substr(folder.size())), snapshot, file));
    }
    return found;
  }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions&) override { refuse(uri); }
  void remove(const Uri& uri, std::optional<Generation>) override { refuse(uri); }

 private:
  [[noreturn]] static void refuse(const Uri& uri) {
    throw Error(Code::kUsage, "hf:// can only be read", uri.to_string(),
                "write to a local path or gs://, and upload from there with `hf upload`");
  }

  static Stat stat_of(std::string name, const HubSnapshot& snapshot, const HubFile& file) {
    return {.name = std::move(name),
            .size = file.size,
            .generation = version_of(snapshot.commit, file.path)};
  }

  static const HubFile* find(const HubSnapshot& snapshot, const std::string& path) {
    const auto found = std::ranges::lower_bound(snapshot.files, path, {}, &HubFile::path);
    return found != snapshot.files.end() && found->path == path ? &*found : nullptr;
  }

  // Looks the repository up at the first call for it.
  const HubSnapshot& files_of(const HubPath& path) {
    const std::lock_guard lock(mutex_);
    const std::string key = path.repository_uri();
    const auto known = snapshots_.find(key);
    if (known != snapshots_.end()) return known->second;
    return snapshots_.emplace(key, look_up(path)).first->second;
  }

  HubSnapshot look_up(const HubPath& path) {
    if (options_.offline) {
      if (auto kept = kept_snapshot(path)) return *kept;
      throw Error(Code::kNotFound,
                  "the cache of the hub does not hold it, and HF_HUB_OFFLINE is set",
                  path.repository_uri(), how_to_download(path));
    }
    Retry retry(look_up_retry_, cat("look up ", path.repository_uri()));
    while (true) {
      try {
        return requests_.snapshot(path);
      } catch (const Error& error) {
        try {
          retry.wait(error);
        } catch (const Error& last) {
          if (last.code() != Code::kUnavailable) throw;
          return kept_instead(path, last);
        }
      }
    }
  }

  std::optional<HubSnapshot> kept_snapshot(const HubPath& path) const {
    std::optional<HubSnapshot> kept = shared_.snapshot(path);
    if (kept && !kept->is_whole) {
      log_warning(cat(path.repository_uri(), ": another program filled the cache of the hub; ",
                      "files that are not there count as absent"));
    }
    return kept;
  }

  HubSnapshot kept_instead(const HubPath& path, const Error& reason) {
    if (auto kept = kept_snapshot(path)) {
      log_warning(cat(path.repository_uri(), ": ", reason.problem(), "; using commit ",
                      kept->commit.substr(0, 8), " from the cache"));
      return *kept;
    }
    throw Error(reason.code(), cat("the hub cannot be asked: ", reason.problem()),
                path.repository_uri(), how_to_download(path));
  }

  std::string local_file(const HubPath& path, const HubSnapshot& snapshot, const HubFile& file,
                         const std::stop_token& stop) {
    if (snapshot.is_whole) shared_.keep_list(path, snapshot);
    if (const auto found = shared_.find(path, snapshot.commit, file)) return *found;
    if (options_.offline) {
      throw Error(Code::kNotFound,
                  "the cache of the hub does not hold this file, and HF_HUB_OFFLINE is set",
                  cat(path.repository_uri(), "/", file.path), how_to_download(path));
    }
    const HubCache& cache = writable();
    const std::string place =
        download(requests_, cache, path, snapshot.commit, file, download_retry_, stop);
    cache.remember(path, snapshot.commit);
    return place;
  }

  const HubCache& writable() {
    const std::lock_guard lock(mutex_);
    if (temporary_cache_) return *temporary_cache_;
    if (shared_.can_be_written()) return shared_;
    temporary_.emplace("hub");
    temporary_cache_.emplace(temporary_->path());
    log_info(cat("files of the hub are not cached, because ",
                 options_.cache_dir.empty() ? std::string("there is no home directory")
                                            : cat(options_.cache_dir, " cannot be written"),
                 "; HF_HOME may name another folder"));
    return *temporary_cache_;
  }

  Storage& local_;
  const HubOptions options_;
  const RetryOptions download_retry_;
  RetryOptions look_up_retry_;
  HubRequests requests_;
  const HubCache shared_;
  std::mutex mutex_;                              // guards the members below
  std::map<std::string, HubSnapshot> snapshots_;  // by the repository's URI; never removed
  std::optional<TemporaryDirectory> temporary_;
  std::optional<HubCache> temporary_cache_;
};

}  // namespace

std::unique_ptr<Storage> make_hub_storage(HttpClient& http, Storage& local, HubOptions options,
                                          const RetryOptions& retry) {
  return std::make_unique<HubStorage>(http, local, std::move(options), retry);
}

}  // namespace berth
