#include "entrypoint/job/output_locks.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "entrypoint/platform/this_process.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_lock.h"
#include "storage/local_storage.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// A local directory by its real path, so that two names of one directory are equal. It need not
// exist.
Uri real_directory(const Uri& directory) {
  if (!directory.is_local()) return directory;
  std::error_code failure;
  fs::path path = fs::absolute(directory.path(), failure);
  if (!failure) path = fs::weakly_canonical(path, failure);
  if (failure) return directory;
  if (!path.has_filename()) path = path.parent_path();  // it ended with a slash
  return directory.with_path(path.string());
}

std::vector<Uri> held_directories(const JobDirectory& directory) {
  std::vector<Uri> held{directory.root(), directory.checkpoints()};
  const JobDirectory usual(directory.root());
  if (directory.model() != usual.model()) held.push_back(directory.model());
  if (directory.summaries() != usual.summaries()) held.push_back(directory.summaries());
  return held;
}

// The folders that a job has for itself in its directory. It may have moved some of them elsewhere.
std::vector<Uri> own_folders(const JobDirectory& directory) {
  const JobDirectory usual(directory.root());
  std::vector<Uri> folders;
  for (const auto& [folder, usual_folder] :
       {std::pair(directory.model(), usual.model()),
        std::pair(directory.checkpoints(), usual.checkpoints()),
        std::pair(directory.summaries(), usual.summaries())}) {
    if (folder == usual_folder) folders.push_back(folder);
  }
  return folders;
}

// Whether a job has the folder of this name for itself, unless it has moved it elsewhere.
bool is_own_folder(std::string_view name) {
  return name == kModelFolderName || name == kCheckpointsFolderName || name == kSummariesFolderName;
}

// The directory of a lease, with a slash at the end. A directory comes before those inside it.
std::string place_of_lease(const Uri& lease) {
  std::string place = lease.to_string();
  place.resize(place.size() - kLeaseName.size());
  return place;
}

// The leases of the directories above to whose holders `directory` would belong: it is their
// model/, checkpoints/ or summaries/, or lies in it. The path tells which they are, so for most
// directories there is none, and no request is needed.
std::vector<Uri> leases_above(const Uri& directory) {
  std::vector<Uri> leases;
  const std::string path = (directory / kLeaseName).path();
  size_t begin = 0;
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', begin)) {
    if (is_own_folder(path.substr(begin, end - begin))) {
      leases.push_back(directory.with_path(cat(path.substr(0, begin), kLeaseName)));
    }
    begin = end + 1;
  }
  return leases;
}

// The leases in a folder and at any depth below it.
std::vector<Uri> leases_in(Storage& storage, const Uri& folder) {
  std::vector<Uri> leases;
  for (const Stat& object : storage.list(real_directory(folder))) {
    const Uri uri = Uri::parse(object.name);
    if (uri.file_name() == kLeaseName) leases.push_back(uri);
  }
  return leases;
}

}  // namespace

OutputLocks::OutputLocks(const JobDirectory& directory, FencedStorage& storage,
                         const std::atomic<bool>& stop, const LeaseTimes& times)
    : OutputLocks(held_directories(directory), own_folders(directory), storage, stop, times) {}

OutputLocks::OutputLocks(const Uri& directory, FencedStorage& storage,
                         const std::atomic<bool>& stop, const LeaseTimes& times)
    : OutputLocks({directory}, {}, storage, stop, times) {}

OutputLocks::OutputLocks(const std::vector<Uri>& directories, std::vector<Uri> folders,
                         FencedStorage& storage, const std::atomic<bool>& stop,
                         const LeaseTimes& times)
    : storage_(storage), stop_(stop), folders_(std::move(folders)) {
  for (const Uri& name : directories) {
    const Uri directory = real_directory(name);
    Held& held = held_[place_of_lease(directory / kLeaseName)];
    held.directory = directory;
    held.names.push_back(name);
  }
  // Looking before anything is made leaves no trace of a job that is refused.
  for (const auto& [place, held] : held_) {
    if (held.directory.is_local()) require_free(held.directory / kLeaseName, held.directory);
  }
  require_no_overlap(/*is_local=*/true);
  // The second check comes after taking. So if two jobs start at once, one of them sees the other.
  take_remote(times);
  require_no_overlap(/*is_local=*/false);
  take_local();
  require_no_overlap(/*is_local=*/true);
}

void OutputLocks::take_remote(const LeaseTimes& times) {
  const LeaseHolder holder{
      .name = process_name(), .process = process_identity(), .has_ended = has_process_ended};
  for (auto& [place, held] : held_) {
    if (held.directory.is_local()) continue;
    held.fence = std::make_unique<FencedStorage::Fence>(storage_, held.directory, kLeaseName,
                                                        holder, stop_, times);
  }
}

void OutputLocks::take_local() {
  for (auto& [place, held] : held_) {
    if (!held.directory.is_local()) continue;
    make_directories(held.directory.path());
    std::optional<FileLock> lock =
        FileLock::take((held.directory / kLeaseName).path(), process_name());
    if (lock) {
      held.fence = std::make_unique<FencedStorage::Fence>(storage_, held.names, std::move(*lock));
    } else {
      log_warning(cat(held.directory.path(),
                      ": this file system has no locks, so nothing keeps a second job out of this "
                      "directory"));
    }
  }
}

void OutputLocks::require_no_overlap(bool is_local) const {
  for (const auto& [place, held] : held_) {
    if (held.directory.is_local() != is_local) continue;
    for (const Uri& lease : leases_above(held.directory)) {
      if (!held_.contains(place_of_lease(lease))) require_free(lease, held.directory);
    }
  }
  for (const Uri& folder : folders_) {
    if (folder.is_local() != is_local) continue;
    for (const Uri& lease : leases_in(storage_, folder)) {
      if (!held_.contains(place_of_lease(lease))) require_free(lease, folder);
    }
  }
}

void OutputLocks::require_free(const Uri& lease, const Uri& wanted) const {
  if (!lease.is_local()) {
    const auto with_lease = std::find_if(held_.begin(), held_.end(), [](const auto& entry) {
      return !entry.second.directory.is_local();
    });
    return with_lease->second.fence->require_free(lease, wanted, stop_);
  }
  const std::optional<std::string> holder = FileLock::holder_of(lease.path());
  if (!holder) return;
  throw Error(
      Code::kInUse,
      cat("another process writes there: ", printable(*holder), " holds the lease ", lease.path()),
      wanted.to_string(), "wait until it ends, stop it, or use another directory");
}

}  // namespace berth
