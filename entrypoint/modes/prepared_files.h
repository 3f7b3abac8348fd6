#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

enum class RecordFormat { kTfRecord, kJsonl };

// How --mode prepare lays out its files.
struct PreparedFileOptions {
  RecordFormat format = RecordFormat::kTfRecord;
  int64_t num_shards = 1;
  bool gzip = false;
};

// The files of the set "train", in the order of their rows: train.tf_record or train.jsonl; of
// several shards train.tf_record-00000-of-00002, ... or train-00000-of-00002.jsonl, ...; behind
// each .gz.
std::vector<std::string> prepared_names(const std::string& set, const PreparedFileOptions& options);

// Throws kIncompatible where `directory` has files of the set, in this format, that these options
// would leave beside the new ones: a pattern over all of them would mix the two.
void refuse_leftovers(Storage& storage, const Uri& directory, const std::string& set,
                      const PreparedFileOptions& options);

// Writes the rows 0 to `rows` - 1 into the set's files, each shard as many as the others but for
// one. `append` adds one row's bytes, framed as the format has it; it must repeat itself, as
// store_object() may start a file again. Memory does not grow with the rows.
void write_prepared(Storage& storage, const Uri& directory, const std::string& set,
                    const PreparedFileOptions& options, int64_t rows,
                    const std::function<void(int64_t row, std::vector<std::byte>& bytes)>& append);

}  // namespace berth
