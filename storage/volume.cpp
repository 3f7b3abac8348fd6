#include "storage/volume.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "storage/local_storage.h"

namespace berth {
namespace {

// The magic numbers of file systems that store every byte once and as it is (statfs(2)): the ext
// family, XFS, tmpfs, and overlayfs, which reports the numbers of the file system that it writes
// to.
constexpr std::array<uint64_t, 4> kPlain = {0xEF53, 0x58465342, 0x01021994, 0x794c7630};

// The path, or what exists of it.
std::string existing_part(std::string path) {
  struct ::stat status;
  while (::stat(path.c_str(), &status) != 0) {
    const std::string parent = directory_of(path);
    if (parent == path) break;
    path = parent;
  }
  return path;
}

}  // namespace

std::optional<Volume> volume_of(const Uri& place) {
  if (!place.is_local()) return std::nullopt;
  const std::string path = existing_part(place.path());
  struct ::stat status;
  struct ::statfs stats;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const Volume silent{.id = status.st_dev};
  if (::statfs(path.c_str(), &stats) != 0) return silent;
  // What the system keeps for root is free for root alone.
  const uint64_t free_blocks = ::geteuid() == 0 ? stats.f_bfree : stats.f_bavail;
  const auto block = static_cast<uint64_t>(stats.f_frsize > 0 ? stats.f_frsize : stats.f_bsize);
  const bool is_meaningless = stats.f_blocks == 0 || block == 0 || free_blocks > stats.f_blocks ||
                              stats.f_blocks > UINT64_MAX / block;
  if (is_meaningless) return silent;
  const auto magic = static_cast<uint64_t>(stats.f_type) & 0xFFFFFFFF;
  return Volume{.id = status.st_dev,
                .size_bytes = stats.f_blocks * block,
                .free_bytes = free_blocks * block,
                .is_certain = std::ranges::find(kPlain, magic) != kPlain.end()};
}

uint64_t bytes_below(const Uri& directory) {
  if (!directory.is_local()) return 0;
  uint64_t total = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(directory.path(), error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    struct ::stat status;
    if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    total += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return total;
}

uint64_t largest_file_bytes() {
  struct ::rlimit limit;
  const bool is_known = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : UINT64_MAX;
}

}  // namespace berth
