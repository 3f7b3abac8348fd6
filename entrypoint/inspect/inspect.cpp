#include "entrypoint/inspect/inspect.h"

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "trainer/loop/parameter_files.h"
#include "trainer/loop/tensorflow_files.h"

namespace berth {
namespace {

bool is_event_file(const std::string& name) { return name.find("tfevents") != std::string::npos; }

bool names_rows(std::string_view name) {
  const std::string_view plain = without_compression_suffix(name);
  return (is_table(plain) && !is_plain_text(plain)) || names_records(plain) ||
         names_token_shard(plain);
}

// Whether rows lie in a folder, or in an archive, and no parameters, which are a model then.
bool holds_rows_alone(Storage& storage, const Uri& uri) {
  bool has_rows = false;
  for (const Stat& file : storage.list(uri)) {
    const std::string_view name = last_part(file.name);
    if (names_parameters(name) || name == "config.json") return false;
    has_rows = has_rows || names_rows(name);
  }
  return has_rows;
}

// Looks into each file of a folder or an archive.
Inspection inspect_files(Storage& storage, const Uri& uri, const TextForm& form) {
  Inspection all;
  for (const Uri& file : expand(storage, uri, names_rows)) {
    try {
      const Inspection one = inspect(storage, file.to_string(), form);
      all.text += cat(all.text.empty() ? "" : "\n", one.text);
      all.json += cat(all.json.empty() ? "" : "\n", one.json);
    } catch (const Error& error) {
      throw error.in(file.to_string());
    }
  }
  return all;
}

}  // namespace

Inspection inspect(Storage& storage, const std::string& path, TextForm form) {
  const Uri uri = Uri::parse(path);
  const std::string name = uri.file_name();
  const bool is_file = storage.stat(uri).has_value();
  if ((!is_file || is_archive(name)) && holds_rows_alone(storage, uri)) {
    return inspect_files(storage, uri, form);
  }
  if (!is_file) return inspect_tensors(storage, uri);  // a folder, or the prefix of a checkpoint
  if (names_parameters(name) || names_checkpoint(storage, uri))
    return inspect_tensors(storage, uri);
  if (is_event_file(name)) return inspect_events(storage, uri);
  if (names_records(without_compression_suffix(name))) return inspect_records(storage, uri);
  if (names_token_shard(without_compression_suffix(name))) return inspect_shard(storage, uri);
  if (is_table(without_compression_suffix(name))) return inspect_table(storage, uri, form);
  throw Error(Code::kBadData, "berth cannot look into this kind of file", path,
              "it reads .safetensors, .bin, TensorFlow checkpoints, .pickle, .parquet, .arrow, "
              ".npz, .npy, .csv, .tsv, .jsonl, .tfrecord, .tokens and TensorBoard's event files");
}

}  // namespace berth
