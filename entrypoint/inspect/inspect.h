#pragma once

#include <string>

#include "storage/storage.h"

namespace berth {

// What is in a file or folder: for people, and for machines as one JSON object.
struct Inspection {
  std::string text;  // lines
  std::string json;  // without a line break at its end
};

// Looks into the model, checkpoint, table, TFRecord or event file at `path`, and verifies what has
// checksums. Throws kNotFound; kBadData on a file of none of those kinds; what its reader throws.
Inspection inspect(Storage& storage, const std::string& path);

// The kinds. `uri` is a file of that kind.
Inspection inspect_table(Storage& storage, const Uri& uri);
Inspection inspect_records(Storage& storage, const Uri& uri);  // TFRecords of tf.Example
Inspection inspect_events(Storage& storage, const Uri& uri);
Inspection inspect_tensors(Storage& storage, const Uri& uri);  // a file of tensors, or a folder

}  // namespace berth
