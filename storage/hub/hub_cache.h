#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "storage/hub/hub_requests.h"

namespace berth {

// The cache of the huggingface_hub package, so that each program finds what the other one fetched:
//
//   models--ORG--NAME/refs/REVISION             the commit of a branch or tag, as text
//   models--ORG--NAME/snapshots/COMMIT/PATH     a link to
//   models--ORG--NAME/blobs/HASH                the content
//   models--ORG--NAME/blobs/HASH.incomplete     the beginning of the content
//   .locks/models--ORG--NAME/HASH.lock          held by who writes HASH.incomplete
//
// Thread-safe. Several processes may use a cache at the same time.
class HubCache {
 public:
  explicit HubCache(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  bool can_be_written() const;  // makes the folder if it is absent

  // What the cache knows of the repository at `path.revision`, with the files that it holds and
  // without their hashes. nullopt if it knows no commit of that revision.
  std::optional<HubSnapshot> snapshot(const HubPath& path) const;

  // The local file of `file`; nullopt if the cache does not hold it in its full size.
  std::optional<std::string> find(const HubPath& path, const std::string& commit,
                                  const HubFile& file) const;

  // Records that `path.revision` is `commit` now.
  void remember(const HubPath& path, const std::string& commit) const;

  // Makes a file appear in the snapshot of `commit`. Its blob is complete.
  void link(const HubPath& path, const std::string& commit, const HubFile& file) const;

  std::string blob(const HubPath& path, const HubFile& file) const;
  std::string lock_file(const HubPath& path, const HubFile& file) const;

 private:
  std::filesystem::path folder(const HubPath& path) const { return root_ / path.cache_folder(); }
  std::filesystem::path snapshot_folder(const HubPath& path, const std::string& commit) const {
    return folder(path) / "snapshots" / commit;
  }

  const std::filesystem::path root_;
};

}  // namespace berth
