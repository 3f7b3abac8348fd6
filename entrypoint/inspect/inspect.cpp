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

}  // namespace

Inspection inspect(Storage& storage, const std::string& path, TextForm form) {
  const Uri uri = Uri::parse(path);
  const std::string name = uri.file_name();
  if (!storage.stat(uri))
    return inspect_tensors(storage, uri);  // a folder, or the prefix of a checkpoint
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
