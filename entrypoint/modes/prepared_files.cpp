#include "entrypoint/modes/prepared_files.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/gzip_writer.h"
#include "storage/store_object.h"

namespace berth {
namespace {

using AppendRow = std::function<void(int64_t row, std::vector<std::byte>& bytes)>;

void write_rows(ByteSink& sink, bool gzip, int64_t begin, int64_t end, const AppendRow& append) {
  constexpr size_t kWriteBytes = size_t{1} << 20;
  std::optional<GzipWriter> compressed;
  if (gzip) compressed.emplace(sink);
  std::vector<std::byte> bytes;
  const auto write = [&] {
    if (compressed) {
      compressed->write(bytes);
    } else {
      sink.write(bytes);
    }
    bytes.clear();
  };
  for (int64_t row = begin; row < end; ++row) {
    append(row, bytes);
    if (bytes.size() >= kWriteBytes) write();
  }
  write();
  if (compressed) compressed->finish();
}

}  // namespace

std::string shard_suffix(int64_t shard, int64_t shards) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05lld-of-%05lld", static_cast<long long>(shard),
                static_cast<long long>(shards));
  return text;
}

std::vector<std::string> prepared_names(const std::string& set,
                                        const PreparedFileOptions& options) {
  std::vector<std::string> names;
  for (int64_t shard = 0; shard < options.num_shards; ++shard) {
    const std::string suffix =
        options.num_shards > 1 ? shard_suffix(shard, options.num_shards) : std::string();
    const bool is_records = options.format == RecordFormat::kTfRecord;
    std::string name = is_records ? set + ".tf_record" + suffix : set + suffix + ".jsonl";
    names.push_back(options.gzip ? name + ".gz" : std::move(name));
  }
  return names;
}

void refuse_leftovers(Storage& storage, const Uri& directory, const std::string& set,
                      const PreparedFileOptions& options) {
  const std::vector<std::string> names = prepared_names(set, options);
  const bool is_records = options.format == RecordFormat::kTfRecord;
  for (const Stat& file : storage.list(directory)) {
    const std::string name = Uri::parse(file.name).file_name();
    if (file.name != (directory / name).to_string()) continue;  // the file lies in a folder below
    const bool is_of_set =
        is_records ? name.starts_with(set + ".tf_record")
                   : name.starts_with(set + ".jsonl") ||
                         (name.starts_with(set + "-") && name.find(".jsonl") != std::string::npos);
    if (!is_of_set || std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(Code::kIncompatible,
                cat("the directory holds ", name,
                    " of another preparation, which would stay beside ", names.front()),
                directory.to_string(),
                "give a new --export-dir, or remove the files of the other preparation");
  }
}

void write_prepared(Storage& storage, const Uri& directory, const std::string& set,
                    const PreparedFileOptions& options, int64_t rows, const AppendRow& append) {
  const std::vector<std::string> names = prepared_names(set, options);
  const auto shards = static_cast<int64_t>(names.size());
  for (int64_t shard = 0; shard < shards; ++shard) {
    const int64_t begin = rows * shard / shards, end = rows * (shard + 1) / shards;
    store_object(storage, directory / names[static_cast<size_t>(shard)],
                 [&](ByteSink& sink) { write_rows(sink, options.gzip, begin, end, append); });
  }
}

}  // namespace berth
