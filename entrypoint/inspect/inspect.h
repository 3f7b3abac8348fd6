#pragma once

#include <string>

#include "storage/formats/text_form.h"
#include "storage/storage.h"

namespace berth {

// What a file or folder holds, for people and as one JSON object for machines.
struct Inspection {
  std::string text;  // lines
  std::string json;  // without a line break at its end
};

// Describes the model, checkpoint, table, TFRecord, event file or shard of tokens at `path`, and
// verifies its checksums if it has any. For a folder or archive of tables, it describes each file,
// as an object on a line of its own. Throws kNotFound, kBadData on a file of another kind, and what
// the reader of the file throws.
Inspection inspect(Storage& storage, const std::string& path, TextForm form = {});

}  // namespace berth
