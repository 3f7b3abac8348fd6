#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/data/table_loader.h"

namespace berth {

// What was read, as job.json records it.
struct Source {
  std::string role;  // "train", "eval", "model", ...
  std::string uri;
  Checksum checksum;  // of the bytes as stored
};

// The rows of some files.
struct DataRequest {
  std::string role;  // of the sources
  std::string path;
  LoadRules rules{};
  RowLayout layout = RowLayout::kByName;
};

struct LoadedTable {
  std::unique_ptr<ExampleTable> table;
  Task task;
  ColumnChoice columns;         // the ones that were read
  std::string name;             // as the user gave it
  std::vector<Source> sources;  // of the files, in the order of their rows
};

// The files that a data path names: expand() for tables, compressed or not.
std::vector<Uri> table_files(Storage& storage, const std::string& path);

// Reads the tables of a path's files as one, in the order of their names, each decompressed by its
// name's suffix, and says what it left out or deduced. Errors name the file.
LoadedTable load_table(Storage& storage, const DataRequest& request);

}  // namespace berth
