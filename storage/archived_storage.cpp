#include "storage/archived_storage.h"

#include <map>
#include <mutex>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_lock.h"
#include "storage/local_storage.h"

namespace berth {
namespace {

// The first `size` bytes of the path of `uri`, as a Uri.
Uri start_of(const Uri& uri, size_t size) { return uri.with_path(uri.path().substr(0, size)); }

// Does the work of find_archive(). Unless `as_whole`, an archive at the end of `uri` does not
// count.
std::optional<PathInArchive> find(Storage& storage, const Uri& uri, bool as_whole) {
  const std::string& path = uri.path();
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const size_t rest = std::min(path.find_first_not_of('/', end), path.size());
    if (rest == path.size() && !as_whole) return std::nullopt;
    if (is_archive(path.substr(begin, end - begin))) {
      Uri archive = start_of(uri, end);
      if (storage.stat(archive)) return PathInArchive{std::move(archive), path.substr(rest)};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// The archives unpacked so far, each in a numbered directory. Thread-safe.
class UnpackedArchives {
 public:
  explicit UnpackedArchives(const UnpackLimits& limits) : limits_(limits) {}

  // Returns the directory with the archive's files. The first caller unpacks it while others wait.
  Uri directory_of(Storage& storage, const Uri& archive) {
    const std::lock_guard lock(mutex_);
    if (!root_) root_.emplace("archives");
    const auto [entry, is_new] = directories_.try_emplace(archive.to_string());
    if (is_new) {
      try {
        const std::filesystem::path target = root_->path() / cat(directories_.size());
        unpack_located(storage, archive, target);
        entry->second = Uri::parse(target.string());
      } catch (...) {
        directories_.erase(entry);
        throw;
      }
    }
    return entry->second;
  }

 private:
  void unpack_located(Storage& storage, const Uri& archive, const std::filesystem::path& target) {
    const std::string name = archive.to_string();
    try {
      unpack(storage.open(archive), archive.file_name(), target, limits_);
    } catch (const Error& error) {
      if (error.where().starts_with(name)) throw;
      throw error.at(name);
    }
  }

  const UnpackLimits limits_;
  std::mutex mutex_;
  std::optional<TemporaryDirectory> root_;
  std::map<std::string, Uri> directories_;
};

class ArchivedStorage final : public StorageLayer {
 public:
  ArchivedStorage(std::unique_ptr<Storage> inner, const UnpackLimits& limits)
      : StorageLayer(std::move(inner)), archives_(limits) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    const auto found = find(inner(), uri, /*as_whole=*/false);
    if (!found) return inner().open(uri, options);
    try {
      return files_->open(unpacked(*found), options);
    } catch (const Error& error) {
      throw Error(error.code(), error.problem(), uri.to_string(),
                  "check the names of the files in the archive");
    }
  }

  std::optional<Stat> stat(const Uri& uri) override {
    const auto found = find(inner(), uri, /*as_whole=*/false);
    if (!found) return inner().stat(uri);
    std::optional<Stat> stat = files_->stat(unpacked(*found));
    if (stat) stat->name = uri.to_string();
    return stat;
  }

  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    const auto found = find(inner(), prefix, /*as_whole=*/true);
    if (!found) return inner().list(prefix, enough);
    std::vector<Stat> stats = files_->list(unpacked(*found), enough);
    const size_t skipped = unpacked({found->archive, ""}).to_string().size() + 1;
    for (Stat& stat : stats) stat.name = (found->archive / stat.name.substr(skipped)).to_string();
    return stats;
  }

 private:
  Uri unpacked(const PathInArchive& place) {
    const std::string parts = cat("/", place.path, "/");
    if (parts.find("/../") != std::string::npos) {
      throw Error(Code::kUsage, "a path out of an archive",
                  (place.archive / place.path).to_string(), "write it without \"..\"");
    }
    return archives_.directory_of(inner(), place.archive) / place.path;
  }

  const std::unique_ptr<Storage> files_ = make_local_storage();
  UnpackedArchives archives_;
};

}  // namespace

std::optional<PathInArchive> find_archive(Storage& storage, const Uri& uri) {
  return find(storage, uri, /*as_whole=*/true);
}

std::unique_ptr<Storage> make_archived_storage(std::unique_ptr<Storage> inner,
                                               const UnpackLimits& limits) {
  return std::make_unique<ArchivedStorage>(std::move(inner), limits);
}

}  // namespace berth
