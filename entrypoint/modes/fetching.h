#pragma once

#include <span>
#include <string>
#include <vector>

#include "entrypoint/job/job.h"
#include "storage/storage.h"

namespace berth {

// A file to copy, and its path below the directory that it is copied to.
struct FileToFetch {
  Uri from;
  std::string name;
};

// The files that `places` name; each place is a file, a pattern, a folder or an archive, as
// expand() reads it. A file keeps its name. A file in a folder, in an archive or below a pattern's
// fixed part also keeps its path there. Throws what expand() throws, kUsage if two files would get
// the same path, and kBadData if a path would lead out of the directory.
std::vector<FileToFetch> files_to_fetch(Storage& storage, std::span<const std::string> places);

// --mode fetch: copies the files that the arguments name to --export-dir. Each file appears as a
// whole, and its checksum is compared where its storage knows one. Throws what run() promises.
void run_fetch(Job& job);

}  // namespace berth
