#include "trainer/loop/parameter_files.h"

#include <algorithm>
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
    if (names_parameters(file.file_name()) && file == folder / file.file_name())
      files.push_back(file);
  }
  for (const char* name : kParameterFiles) {
    const auto found = std::find(files.begin(), files.end(), folder / name);
    if (found != files.end()) return *found;
  }
  return files.size() == 1 ? std::optional(files[0]) : std::nullopt;
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
  };
  std::string candidates;
  std::optional<Error> other;
  for (const Stat& stat : storage.list(folder)) {
    const std::string name = Uri::parse(stat.name).file_name();
    if (Uri::parse(stat.name) != folder / name) continue;
    if (names_parameters(name)) candidates += (candidates.empty() ? "" : ", ") + name;
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
