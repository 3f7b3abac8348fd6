#include "entrypoint/training/output_locks.h"

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "entrypoint/platform/process_name.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
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

std::set<fs::path> held_directories(const JobDirectory& directory) {
  std::set<fs::path> paths;
  const auto add = [&](const Uri& uri) {
    if (uri.is_local()) paths.insert(real_path(uri));
  };
  add(directory.root());
  add(directory.checkpoints());
  const JobDirectory usual(directory.root());
  if (directory.model() != usual.model()) add(directory.model());
  if (directory.summaries() != usual.summaries()) add(directory.summaries());
  return paths;
}

}  // namespace

OutputLocks::OutputLocks(const JobDirectory& directory) {
  for (const fs::path& path : held_directories(directory)) {
    std::optional<FileLock> lock = FileLock::take((path / kLeaseName).string(), process_name());
    if (lock) {
      locks_.push_back(std::move(*lock));
    } else {
      log_warning(cat(path.string(),
                      ": this file system has no locks, so nothing keeps a second job out of this "
                      "directory"));
    }
  }
}

}  // namespace berth
