#pragma once

#include <memory>
#include <optional>

#include "storage/archive.h"
#include "storage/storage.h"

// Paths that lead into archives. The functions and the storage are thread-safe. Errors name the
// archive.
namespace berth {

// A path that leads into an archive. "gs://b/corpus.tar.gz/part/a.csv" means the file "part/a.csv"
// in the archive "gs://b/corpus.tar.gz".
struct PathInArchive {
  Uri archive;
  std::string path;  // empty: the whole archive
};

// Finds the first part of `uri` that is named like an archive and is an object of `storage`, not a
// directory. Returns that archive and the rest of the path, or nullopt if there is none.
std::optional<PathInArchive> find_archive(Storage& storage, const Uri& uri);

// A Storage that also reads inside the archives of `inner`. open(), stat() and list() accept a path
// into an archive, and list() accepts an archive itself. The archive is unpacked once, at first
// use, into a temporary directory that is removed with this object. All other calls pass through to
// `inner`. Throws kCorrupt, naming the archive, if it is damaged.
std::unique_ptr<Storage> make_archived_storage(std::unique_ptr<Storage> inner,
                                               const UnpackLimits& limits = {});

}  // namespace berth
