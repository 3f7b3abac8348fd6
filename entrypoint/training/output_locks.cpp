#include "entrypoint/training/output_locks.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "entrypoint/platform/process_name.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_lock.h"
#include "storage/local_file.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// The real path, so that two names of one directory are equal.
fs::path real_path(const Uri& directory) {
  make_directories(directory.path());
  std::error_code failure;
  const fs::path path = fs::canonical(directory.path(), failure);
  return failure ? fs::path(directory.path()) : path;
}

std::vector<Uri> held_directories(const JobDirectory& directory) {
  std::vector<Uri> held{directory.root(), directory.checkpoints()};
  const JobDirectory usual(directory.root());
  if (directory.model() != usual.model()) held.push_back(directory.model());
  if (directory.summaries() != usual.summaries()) held.push_back(directory.summaries());
  return held;
}

// The local directories by their real paths, with all names that the job has for them.
std::map<fs::path, std::vector<Uri>> local_directories(const std::vector<Uri>& directories) {
  std::map<fs::path, std::vector<Uri>> local;
  for (const Uri& directory : directories) {
    if (directory.is_local()) local[real_path(directory)].push_back(directory);
  }
  return local;
}

std::map<std::string, Uri> remote_directories(const std::vector<Uri>& directories) {
  std::map<std::string, Uri> remote;
  for (const Uri& directory : directories) {
    if (!directory.is_local()) remote.emplace(directory.to_string(), directory);
  }
  return remote;
}

bool is_at_or_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

void require_free(const fs::path& directory, const fs::path& wanted) {
  const fs::path lease = directory / kLeaseName;
  const std::optional<std::string> holder = FileLock::holder_of(lease.string());
  if (!holder) return;
  throw Error(Code::kInUse,
              cat("another process writes there: ", *holder, " holds ", lease.string()),
              wanted.string(), "wait until it ends, stop it, or use another directory");
}

// A job holds the lease of its directory, and not one in each of the folders that it makes there.
void require_outside_other_jobs(const fs::path& path, const std::set<fs::path>& held) {
  for (fs::path above = path.parent_path(); above != above.parent_path();
       above = above.parent_path()) {
    if (held.contains(above)) continue;
    const JobDirectory other(Uri::parse(above.string()));
    for (const Uri& folder : {other.model(), other.summaries(), other.checkpoints()}) {
      if (is_at_or_below(path, folder.path())) require_free(above, path);
    }
  }
}

// The folders of this job that have no lease of its own must not be the directories of other jobs.
void require_free_folders(const JobDirectory& directory, const std::set<fs::path>& held) {
  const JobDirectory usual(directory.root());
  for (const auto& [folder, usual_folder] : {std::pair(directory.model(), usual.model()),
                                             std::pair(directory.summaries(), usual.summaries())}) {
    if (!folder.is_local() || folder != usual_folder) continue;
    std::error_code failure;
    const fs::path path = fs::canonical(folder.path(), failure);
    if (!failure && !held.contains(path)) require_free(path, path);
  }
}

}  // namespace

OutputLocks::OutputLocks(const JobDirectory& directory, FencedStorage& storage,
                         const std::atomic<bool>& stop) {
  const std::vector<Uri> directories = held_directories(directory);
  std::set<fs::path> held;
  for (auto& [path, names] : local_directories(directories)) {
    held.insert(path);
    std::optional<FileLock> lock = FileLock::take((path / kLeaseName).string(), process_name());
    if (lock) {
      fences_.push_back(std::make_unique<FencedStorage::Fence>(storage, names, std::move(*lock)));
    } else {
      log_warning(cat(path.string(),
                      ": this file system has no locks, so nothing keeps a second job out of this "
                      "directory"));
    }
  }
  // Looking comes after taking, so that of two jobs that start at once one sees the other.
  for (const fs::path& path : held) require_outside_other_jobs(path, held);
  require_free_folders(directory, held);
  const LeaseHolder holder{
      .name = process_name(), .process = process_identity(), .has_ended = has_process_ended};
  for (const auto& [name, remote] : remote_directories(directories)) {
    fences_.push_back(
        std::make_unique<FencedStorage::Fence>(storage, remote, kLeaseName, holder, stop));
  }
}

}  // namespace berth
