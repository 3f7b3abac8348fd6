#include "trainer/loop/tensorflow_files.h"

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/memory_sink.h"
#include "storage/base/text.h"
#include "storage/formats/checkpoint_state.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/store_object.h"
#include "storage/whole_file.h"
#include "trainer/weights/tensorflow_model.h"
#include "trainer/weights/tensorflow_variables.h"

namespace berth {
namespace {

constexpr std::string_view kIndex = ".index";

bool is_checkpoint(Storage& storage, const Uri& prefix) {
  return storage.stat(Uri::parse(cat(prefix.to_string(), kIndex))).has_value();
}

// `path` may be absolute, a URI, or relative to the directory.
Uri resolved(const Uri& directory, const std::string& path) {
  const bool is_whole = path.starts_with('/') || path.find("://") != std::string::npos;
  return is_whole ? Uri::parse(path) : directory / path;
}

std::optional<Uri> only_checkpoint(Storage& storage, const Uri& directory) {
  std::vector<std::string> prefixes;
  for (const Stat& file : storage.list(directory)) {
    const Uri uri = Uri::parse(file.name);
    if (!file.name.ends_with(kIndex) || uri != directory / uri.file_name()) continue;
    prefixes.push_back(file.name.substr(0, file.name.size() - kIndex.size()));
  }
  if (prefixes.empty()) return std::nullopt;
  if (prefixes.size() > 1) {
    throw Error(Code::kBadData, cat("holds ", prefixes.size(), " TensorFlow checkpoints"),
                directory.to_string(), cat("name one of them, such as ", prefixes.back()));
  }
  return Uri::parse(prefixes[0]);
}

// The files of a checkpoint. Each is opened when it is first needed.
class CheckpointFiles {
 public:
  CheckpointFiles(Storage& storage, const Uri& prefix,
                  const std::function<void(const Uri&, Bytes)>& opened)
      : storage_(storage), prefix_(prefix.to_string()), opened_(opened) {}

  TensorBundleIndex index() {
    TensorBundleIndex index(open(cat(prefix_, kIndex)));
    num_shards_ = index.num_shards();
    return index;
  }
  Bytes shard(int32_t shard) { return open(shard_name(prefix_, shard, num_shards_)); }

  // Calls `opened` for every file that was opened.
  void report() const {
    for (const auto& [uri, file] : files_) opened_(uri, file->bytes());
  }

 private:
  Bytes open(const std::string& name) {
    const Uri uri = Uri::parse(name);
    if (!storage_.stat(uri)) {
      throw Error(Code::kNotFound, "no such file", name, "fetch all files of the checkpoint");
    }
    files_.emplace_back(uri, std::make_unique<WholeFile>(storage_, uri));
    return files_.back().second->bytes();
  }

  Storage& storage_;
  const std::string prefix_;
  const std::function<void(const Uri&, Bytes)> opened_;
  std::vector<std::pair<Uri, std::unique_ptr<WholeFile>>> files_;
  int32_t num_shards_ = 0;
};

using MakeReader = std::unique_ptr<TensorReader>(TensorBundleIndex, const ShardBytes&);

std::unique_ptr<TensorReader> read_variables(TensorBundleIndex index, const ShardBytes& shards) {
  return std::make_unique<TensorBundleReader>(std::move(index), shards, nullptr,
                                              Verification::kLater);
}

std::unique_ptr<TensorReader> read_model(TensorBundleIndex index, const ShardBytes& shards) {
  return std::make_unique<TensorflowModel>(std::move(index), shards);
}

// A reader of a checkpoint together with the files that it borrows. A thread of its own reports and
// verifies the files.
class OpenedCheckpoint final : public TensorReader {
 public:
  OpenedCheckpoint(CheckpointFiles files, MakeReader& make)
      : files_(std::move(files)),
        reader_(make(files_.index(), [this](int32_t number) { return files_.shard(number); })),
        verified_(std::async(std::launch::async, [this] {
          files_.report();
          reader_->verify();
        })) {}

  std::span<const NamedTensor> tensors() const override { return reader_->tensors(); }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override {
    return reader_->read_rows(tensor, first_row, count, memory);
  }
  void verify() const override { std::shared_future<void>(verified_).get(); }

 private:
  CheckpointFiles files_;
  std::unique_ptr<TensorReader> reader_;
  std::shared_future<void> verified_;  // declared last: the reader must outlive its thread
};

ModelParameters open_as(Storage& storage, const Uri& prefix,
                        const std::function<void(const Uri&, Bytes)>& opened, MakeReader& make) {
  try {
    return {.file = prefix.to_string(),
            .tensors =
                std::make_unique<OpenedCheckpoint>(CheckpointFiles(storage, prefix, opened), make)};
  } catch (const Error& error) {
    if (error.where().starts_with(prefix.to_string())) throw;
    throw error.at(prefix.to_string());
  }
}

}  // namespace

bool names_checkpoint(Storage& storage, const Uri& uri) {
  return is_checkpoint(storage, Uri::parse(bundle_prefix(uri.to_string())));
}

std::optional<Uri> find_checkpoint(Storage& storage, const Uri& uri) {
  const Uri prefix = Uri::parse(bundle_prefix(uri.to_string()));
  if (is_checkpoint(storage, prefix)) return prefix;
  if (const auto state = read_text(storage, uri / "checkpoint")) {
    try {
      for (const std::string& path : latest_checkpoint_prefixes(*state)) {
        const Uri latest = resolved(uri, path);
        if (is_checkpoint(storage, latest)) return latest;
      }
    } catch (const Error& error) {
      throw error.at((uri / "checkpoint").to_string());
    }
  }
  return only_checkpoint(storage, uri);
}

ModelParameters open_checkpoint(Storage& storage, const Uri& prefix,
                                const std::function<void(const Uri&, Bytes)>& opened) {
  return open_as(storage, prefix, opened, read_variables);
}

ModelParameters open_tensorflow_model(Storage& storage, const Uri& prefix,
                                      const std::function<void(const Uri&, Bytes)>& opened) {
  return open_as(storage, prefix, opened, read_model);
}

void write_checkpoint(Storage& storage, const Uri& prefix, std::span<const NamedTensor> tensors) {
  const TensorflowVariables variables(tensors);
  uint64_t bytes = 0;
  for (const NamedTensor& tensor : variables.tensors()) bytes += tensor.data.size();
  // Without an index there is no checkpoint. The old index is therefore removed first, and the new
  // one is written last.
  const std::string name = prefix.to_string();
  storage.remove(Uri::parse(cat(name, kIndex)));
  MemorySink index;
  store_object(storage, Uri::parse(shard_name(name, 0, 1)),
               [&](ByteSink& data) {
                 index = {};
                 write_tensor_bundle(variables.tensors(), index, data);
               },
               {.if_generation = {}, .size_hint = bytes});
  store_object(storage, Uri::parse(cat(name, kIndex)),
               [&](ByteSink& sink) { sink.write(index.written); });
}

}  // namespace berth
