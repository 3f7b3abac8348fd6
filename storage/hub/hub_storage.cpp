#include "storage/hub/hub_storage.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "storage/base/fnv1a.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/hub/hub_cache.h"
#include "storage/hub/hub_download.h"
#include "storage/temporary_directory.h"

namespace berth {
namespace {

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
    const std::string local = local_file(path, snapshot.commit, *file, options.stop);
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
      if (auto kept = shared_.snapshot(path)) return *kept;
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

  HubSnapshot kept_instead(const HubPath& path, const Error& reason) {
    if (auto kept = shared_.snapshot(path)) {
      log_warning(cat(path.repository_uri(), ": ", reason.problem(), "; using commit ",
                      kept->commit.substr(0, 8), " from the cache"));
      return *kept;
    }
    throw Error(reason.code(), cat("the hub cannot be asked: ", reason.problem()),
                path.repository_uri(), how_to_download(path));
  }

  std::string local_file(const HubPath& path, const std::string& commit, const HubFile& file,
                         const std::stop_token& stop) {
    if (const auto found = shared_.find(path, commit, file)) return *found;
    const HubCache& cache = writable();
    const std::string place = download(requests_, cache, path, commit, file, download_retry_, stop);
    cache.remember(path, commit);
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
