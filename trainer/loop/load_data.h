#pragma once

#include <string>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/storage.h"
#include "trainer/data/text_table.h"

namespace berth {

// What was read, as job.json records it.
struct Source {
  std::string role;  // "train", "eval", "model", ...
  std::string uri;
  Checksum checksum;  // of the bytes as stored
};

struct LoadedTable {
  TextTable table;
  std::string name;             // as the user gave it
  std::vector<Source> sources;  // one a file, in the order of their rows
};

// The files that a data path names: expand() for tables, compressed or not.
std::vector<Uri> table_files(Storage& storage, const std::string& path);

// Reads the tables of `path`'s files as one, in the order of their names, each decompressed by its
// name's suffix. Errors name the file.
LoadedTable load_table(Storage& storage, const std::string& role, const std::string& path,
                       const ColumnChoice& columns, LabelNeed need);

}  // namespace berth
