#pragma once

#include <memory>
#include <optional>

#include "storage/archive.h"
#include "storage/storage.h"

namespace berth {

// A path into an archive: "gs://b/corpus.tar.gz/part/a.csv" is "part/a.csv" in the archive.
struct PathInArchive {
  Uri archive;
  std::string path;  // empty: all of it
};

// The first part of `uri` that is named as an archive and is an object of `storage` (not a
// directory), and what follows it; nullopt: there is none.
std::optional<PathInArchive> find_archive(Storage& storage, const Uri& uri);

// Reads inside archives of `inner`: open, stat and list of a path into one, and list of an archive
// itself, are answered from where it was unpacked, once, in a temporary directory that goes with
// this. Everything else passes through. Damage is kCorrupt and names the archive.
std::unique_ptr<Storage> make_archived_storage(std::unique_ptr<Storage> inner,
                                               const UnpackLimits& limits = {});

}  // namespace berth
