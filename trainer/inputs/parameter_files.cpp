#include "trainer/inputs/parameter_files.h"

#include <algorithm>
#include <charconv>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensorflow_checkpoint.h"
#include "storage/formats/torch_file.h"
#include "storage/whole_file.h"
#include "trainer/weights/pretrained.h"
#include "trainer/weights/tensorflow_model.h"

namespace berth {
namespace {

constexpr std::string_view kIndexSuffix = ".index.json";

bool is_torch(std::string_view name) {
  return name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth") ||
         name.ends_with(".ckpt");  // Lightning's; TensorFlow's are several files
}

std::unique_ptr<TensorReader> make_reader(Bytes file, std::string_view name) {
  if (is_torch(name)) return std::make_unique<TorchFileReader>(file);
  return std::make_unique<SafetensorsReader>(file);
}

// One file and its reader.
class FileTensors final : public TensorReader {
 public:
  FileTensors(std::unique_ptr<WholeFile> file, std::string_view name)
      : file_(std::move(file)), reader_(make_reader(file_->bytes(), name)) {}
  std::span<const NamedTensor> tensors() const override { return reader_->tensors(); }

 private:
  std::unique_ptr<WholeFile> file_;  // borrowed by the reader
  std::unique_ptr<TensorReader> reader_;
};

// Opens the files of one folder.
class ParameterFolder {
 public:
  ParameterFolder(Storage& storage, const std::string& shown,
                  const std::function<void(const Uri&, Bytes)>& opened)
      : storage_(storage), shown_(shown), opened_(opened) {}

  std::string shown(const std::string& name) const { return cat(shown_, "/", name); }

  std::unique_ptr<TensorReader> open_file(const Uri& uri, const std::string& name) const {
    auto file = std::make_unique<WholeFile>(storage_, uri);
    opened_(uri, file->bytes());
    try {
      return std::make_unique<FileTensors>(std::move(file), name);
    } catch (const Error& error) {
      throw error.at(shown(name));
    }
  }

  std::unique_ptr<TensorReader> open_shards(const Uri& uri, const std::string& name) const {
    const std::optional<std::string> json = read_text(storage_, uri);
    if (!json) throw Error(Code::kNotFound, "no such file", shown(name));
    opened_(uri, as_bytes(*json));
    try {
      const ShardIndex index = parse_shard_index(*json);
      std::vector<JoinedTensors::Shard> shards;
      for (const std::string& file : index.files()) {
        shards.push_back({file, open_shard(folder_of(uri) / file, file, name)});
      }
      return std::make_unique<JoinedTensors>(index, std::move(shards));
    } catch (const Error& error) {
      if (error.where().starts_with(shown_)) throw;
      throw error.at(shown(name));
    }
  }

 private:
  std::unique_ptr<TensorReader> open_shard(const Uri& uri, const std::string& name,
                                           const std::string& index) const {
    if (!storage_.stat(uri)) {
      throw Error(Code::kNotFound, cat("no such file, but ", index, " places tensors in it"),
                  shown(name), "fetch all files of the model");
    }
    return open_file(uri, name);
  }

  Storage& storage_;
  const std::string& shown_;
  const std::function<void(const Uri&, Bytes)>& opened_;
};

// "model-00001-of-00002.safetensors"
bool is_shard(std::string_view name) {
  const size_t at = name.find("-of-0");
  return at != name.npos && at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';
}

// Whether a file may hold a model's parameters, and is not what the Trainer, accelerate, DeepSpeed
// or OpenVINO write beside them.
bool is_parameter_candidate(std::string_view name) {
  constexpr std::string_view kOthers =
      "training_args.bin optimizer.pt scheduler.pt scaler.pt optimizer.bin scheduler.bin "
      "sampler.bin openvino_model.bin";
  return names_parameters(name) && !name.starts_with("rng_state") &&
         !name.ends_with("_model_states.pt") && !name.ends_with("_optim_states.pt") &&
         !is_one_of(kOthers, name);
}

}  // namespace

bool names_parameters(std::string_view file_name) {
  return file_name.ends_with(".safetensors") || is_torch(file_name) ||
         file_name.ends_with(kIndexSuffix);
}

void ModelParameters::verify() const {
  try {
    tensors->verify();
  } catch (const Error& error) {
    throw error.at(file);
  }
}

ModelParameters open_parameters(Storage& storage, const Uri& uri, const std::string& shown_folder,
                                const std::function<void(const Uri&, Bytes)>& opened) {
  const ParameterFolder folder(storage, shown_folder, opened);
  const std::string name = uri.file_name();
  return {.file = folder.shown(name),
          .tensors = name.ends_with(kIndexSuffix) ? folder.open_shards(uri, name)
                                                  : folder.open_file(uri, name)};
}

std::optional<Uri> find_parameters(const std::vector<Stat>& objects, const Uri& folder) {
  std::vector<Uri> files;
  for (const Stat& stat : objects) {
    const Uri file = Uri::parse(stat.name);
    if (is_parameter_candidate(file.file_name()) && file == folder / file.file_name()) {
      files.push_back(file);
    }
  }
  for (const char* name : kParameterFiles) {
    const auto found = std::find(files.begin(), files.end(), folder / name);
    if (found != files.end()) return *found;
  }
  const bool is_whole = files.size() == 1 && !is_shard(files[0].file_name());
  return is_whole ? std::optional(files[0]) : std::nullopt;
}

std::string newest_checkpoint(const std::vector<Stat>& files, const Uri& folder) {
  const std::string below = (folder / "checkpoint-").to_string();
  int64_t newest = -1;
  for (const Stat& stat : files) {
    if (!stat.name.starts_with(below)) continue;
    const std::string_view rest = std::string_view(stat.name).substr(below.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    int64_t step = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + slash, step);
    const bool is_step = error == std::errc() && end == rest.data() + slash;
    if (is_step && names_parameters(rest.substr(slash))) newest = std::max(newest, step);
  }
  return newest < 0 ? "" : cat(below, newest);
}

namespace {

// Part of a name of a file: the weights in it, and what to do instead.
struct Format {
  std::string_view ending, weights;
  const char* hint;
};

constexpr const char *kFromExporter = "give the folder that it was exported from",
                     *kSaveAsTorch = "save them as model.safetensors, with transformers' names";
constexpr Format kFormats[] = {
    {".h5", "TensorFlow's weights", kFromTensorFlow},
    {".keras", "Keras' weights", kFromTensorFlow},
    {".msgpack", "Flax' weights",
     "convert them with transformers 4 and Flax: AutoModel.from_pretrained(FOLDER, "
     "from_flax=True).save_pretrained(NEW_FOLDER)"},
    {".onnx", "an ONNX graph", kFromExporter},
    {".ort", "a graph of ONNX Runtime", kFromExporter},
    {".gguf", "quantized weights", kFromExporter},
    {".tflite", "a TensorFlow Lite graph", kFromExporter},
    {".mlmodel", "a Core ML graph", kFromExporter},
    {".ot", "weights of rust-bert", kFromExporter},
    {".npz", "arrays of NumPy", kSaveAsTorch},
    {".pdparams", "Paddle's weights", kSaveAsTorch},
    {".params", "MXNet's weights", kSaveAsTorch},
    {".nemo", "an archive of NeMo", kSaveAsTorch},
    {".mar", "an archive of TorchServe", kFromExporter},
    {".engine", "a TensorRT engine", kFromExporter},
    {".pt2", "a program of torch.export", kFromExporter},
    {".pte", "a program of ExecuTorch", kFromExporter},
    {".torchscript", "a TorchScript program", kFromExporter},
    {"openvino_model.xml", "an OpenVINO graph", kFromExporter},
    {"saved_model.pb", "a TensorFlow SavedModel",
     "give the checkpoint or the folder that it was exported from"},
    {".mlpackage/Manifest.json", "a Core ML graph", kFromExporter},
    {".pkl", "a pickle, whose code berth does not run",
     "save model.state_dict() with torch.save, as pytorch_model.bin"},
    {".distcp", "shards of torch.distributed.checkpoint",
     "join them: python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER "
     "pytorch_model.bin"},
    {"_model_states.pt", "a part of a DeepSpeed checkpoint", kFromDeepSpeed},
    {"_optim_states.pt", "a part of a DeepSpeed checkpoint", kFromDeepSpeed},
    {".safetensors.tmp", "a file that was not written to its end", "fetch or save it again"},
    {".safetensors.incomplete", "a file that was not fetched to its end", "fetch it again"},
};

const Format* format_of(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kFormats, [&](const Format& format) { return name.ends_with(format.ending); });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

std::optional<Error> foreign_weights(const Uri& file) {
  const Format* format = format_of(file.file_name());
  if (format == nullptr) return std::nullopt;
  return Error(Code::kBadData, cat("holds ", format->weights, ", which berth does not read"),
               file.to_string(), format->hint);
}

Error missing_parameters(Storage& storage, const Uri& folder) {
  std::string candidates;
  bool lacks_index = false;
  std::optional<Error> other;
  const std::vector<Stat> files = storage.list(folder);
  const std::string checkpoint = newest_checkpoint(files, folder);
  if (!checkpoint.empty()) {
    return Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", folder.to_string(),
                 cat("the newest checkpoint in it is ", checkpoint, ": name that with --model"));
  }
  for (const Stat& stat : files) {
    const std::string file = Uri::parse(stat.name).file_name(), root = folder.to_string() + "/";
    const bool is_below = stat.name.starts_with(root);
    const std::string name = is_below ? stat.name.substr(root.size()) : file;
    if (name == file && is_parameter_candidate(name)) {
      candidates += (candidates.empty() ? "" : ", ") + name;
      lacks_index |= is_shard(name);
    }
    const Format* format = format_of(name);
    if (other || format == nullptr) continue;
    other = Error(Code::kNotFound,
                  cat("no model.safetensors or pytorch_model.bin; ", name, " holds ",
                      format->weights, ", which berth does not read"),
                  folder.to_string(), format->hint);
  }
  if (lacks_index) {
    return Error(
        Code::kNotFound,
        cat("has ", candidates, ", but no index that says which tensors are in which file"),
        folder.to_string(), "fetch all files of the model, also the index (.index.json)");
  }
  if (!candidates.empty()) {
    return Error(Code::kNotFound, cat("has several files of parameters: ", candidates),
                 folder.to_string(), "name the one to use with --model FOLDER/FILE");
  }
  if (other) return *other;
  return Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", folder.to_string(),
               "pass --init random to train from scratch");
}

Uri folder_of(const Uri& file) {
  const std::string text = file.to_string();
  const size_t slash = text.rfind('/');
  if (slash == std::string::npos) return Uri::parse(".");
  return Uri::parse(slash == 0 ? "/" : text.substr(0, slash));
}

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
  write_checkpoint(storage, prefix, TensorflowVariables(tensors));
}

void write_checkpoint(Storage& storage, const Uri& prefix, const TensorflowVariables& variables) {
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
