#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/job.h"
#include "storage/storage.h"

namespace berth {

// "-00001-of-00004", as TensorFlow names shards.
std::string shard_suffix(int64_t shard, int64_t shards);

// The names of a set's files, in the order of their rows. The set "train" is train.tf_record or
// train.jsonl. Its shards are train.tf_record-00000-of-00002, ... or train-00000-of-00002.jsonl,
// ... Compressed files end in .gz.
std::vector<std::string> prepared_names(const std::string& set, const PreparedFileOptions& options);

// Throws kIncompatible if `directory` has files of the set that are not among `names`. A pattern
// such as train.tf_record* would then match old and new files.
void refuse_leftovers(Storage& storage, const Uri& directory, const std::vector<std::string>& names,
                      const std::function<bool(const std::string& name)>& is_of_set);
// The same for the files of a set that these options would not overwrite.
void refuse_leftovers(Storage& storage, const Uri& directory, const std::string& set,
                      const PreparedFileOptions& options);

// For the log: "DIRECTORY/NAME and 3 more".
std::string first_of_files(const Uri& directory, const std::vector<std::string>& names);

// Writes the rows 0 to `rows` - 1 into the files of the set. The sizes of two shards differ by one
// row at most. `append` adds the bytes of one row, with the framing of the format. It may be called
// again for the same row, because store_object() may have to start a file again. Memory does not
// grow with the number of rows.
void write_prepared(Storage& storage, const Uri& directory, const std::string& set,
                    const PreparedFileOptions& options, int64_t rows,
                    const std::function<void(int64_t row, std::vector<std::byte>& bytes)>& append);

}  // namespace berth
