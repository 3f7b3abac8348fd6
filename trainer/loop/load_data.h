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
  Source source;
};

// Reads the table at `uri`, decompressed by its name's suffix. Errors name the file.
LoadedTable load_table(Storage& storage, const std::string& role, const std::string& uri,
                       const ColumnChoice& columns, LabelNeed need);

}  // namespace berth
