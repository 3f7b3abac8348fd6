#include "trainer/loop/parameter_files.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/formats/shard_index.h"
#include "storage/formats/torch_file.h"
#include "storage/whole_file.h"
#include "trainer/weights/pretrained.h"

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

}  // namespace

namespace {

// Whether a file may hold a model's parameters, and is not what the Trainer or OpenVINO write
// beside them.
bool is_parameter_candidate(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOthers = {
      "training_args.bin", "optimizer.pt", "scheduler.pt", "scaler.pt", "openvino_model.bin"};
  return names_parameters(name) && !name.starts_with("rng_state") &&
         std::ranges::find(kOthers, name) == kOthers.end();
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

std::optional<Uri> find_parameters(Storage& storage, const Uri& folder) {
  std::vector<Uri> files;
  for (const Stat& stat : storage.list(folder)) {
    const Uri file = Uri::parse(stat.name);
    if (is_parameter_candidate(file.file_name()) && file == folder / file.file_name()) {
      files.push_back(file);
    }
  }
  for (const char* name : kParameterFiles) {
    const auto found = std::find(files.begin(), files.end(), folder / name);
    if (found != files.end()) return *found;
  }
  return files.size() == 1 ? std::optional(files[0]) : std::nullopt;
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

Error missing_parameters(Storage& storage, const Uri& folder) {
  struct Format {
    std::string_view ending, weights;
    const char* hint;
  };
  static constexpr const char* kFromExporter = "give the folder that it was exported from";
  static constexpr Format kFormats[] = {
      {".h5", "TensorFlow's weights", kFromTensorFlow},
      {".keras", "Keras' weights", kFromTensorFlow},
      {".msgpack", "Flax' weights",
       "convert them with transformers 4 and Flax: AutoModel.from_pretrained(FOLDER, "
       "from_flax=True).save_pretrained(NEW_FOLDER)"},
      {".onnx", "an ONNX graph, which is not trained further", kFromExporter},
      {".gguf", "quantized weights", kFromExporter},
      {".tflite", "a TensorFlow Lite graph", kFromExporter},
      {".mlmodel", "a Core ML graph", kFromExporter},
      {".ot", "weights of rust-bert", kFromExporter},
      {".npz", "arrays of NumPy", "save them as model.safetensors, with transformers' names"},
      {"openvino_model.xml", "an OpenVINO graph", kFromExporter},
      {"saved_model.pb", "a TensorFlow SavedModel",
       "give the checkpoint or the folder that it was exported from"},
      {".mlpackage/Manifest.json", "a Core ML graph", kFromExporter},
      {".pkl", "a pickle, whose code berth does not run",
       "save model.state_dict() with torch.save, as pytorch_model.bin"},
      {".distcp", "shards of torch.distributed.checkpoint",
       "join them: python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER "
       "pytorch_model.bin"},
      {"_model_states.pt", "a part of a DeepSpeed checkpoint",
       "join the parts with the script that DeepSpeed leaves beside them: python zero_to_fp32.py . "
       "pytorch_model.bin"},
      {".safetensors.tmp", "a file that was not written to its end", "fetch or save it again"},
      {".safetensors.incomplete", "a file that was not fetched to its end", "fetch it again"},
  };
  std::string candidates;
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
    }
    for (const Format& format : kFormats) {
      if (other || !name.ends_with(format.ending)) continue;
      other = Error(Code::kNotFound,
                    cat("no model.safetensors or pytorch_model.bin; ", name, " holds ",
                        format.weights, ", which berth does not read"),
                    folder.to_string(), format.hint);
    }
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

}  // namespace berth
