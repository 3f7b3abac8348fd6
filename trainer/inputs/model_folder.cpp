#include "trainer/inputs/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "storage/archive.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/tensor_file.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/weights/adapters.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoConfig = "no config.json or bert_config.json";
constexpr const char* kNoConfigHint = "pass --model-config, or a --model that has one";

constexpr const char* kModulesFile = "modules.json";

// Where older models of sentence-transformers keep their encoder.
constexpr const char* kTransformerFolder = "0_Transformer";

bool holds_model(const fs::path& directory) {
  const auto has = [&](const char* name) { return fs::exists(directory / name); };
  return has("config.json") || has("bert_config.json") || has(kModulesFile) ||
         std::any_of(kParameterFiles.begin(), kParameterFiles.end(), has);
}

// The folder of the model's files. Archives often contain one folder that contains the files.
fs::path model_root(const fs::path& unpacked) {
  if (holds_model(unpacked)) return unpacked;
  if (holds_model(unpacked / kTransformerFolder)) return unpacked / kTransformerFolder;
  for (const fs::directory_entry& entry : fs::directory_iterator(unpacked)) {
    if (entry.is_directory() && holds_model(entry.path())) return entry.path();
    if (holds_model(entry.path() / kTransformerFolder)) return entry.path() / kTransformerFolder;
  }
  return unpacked;
}

bool has_file(const std::vector<Stat>& files, const Uri& directory, const char* name) {
  const std::string wanted = (directory / name).to_string();
  return std::any_of(files.begin(), files.end(),
                     [&](const Stat& file) { return file.name == wanted; });
}

// Whether `uri` is an archive. A directory may have the name of an archive, too.
bool is_packed(Storage& storage, const Uri& uri) {
  return is_archive(uri.file_name()) && storage.stat(uri);
}

// Whether `uri` is a file of parameters. A directory may have such a name, too.
bool is_parameter_file(Storage& storage, const Uri& uri) {
  return names_parameters(uri.file_name()) && storage.stat(uri);
}

[[noreturn]] void no_such_model(Storage& storage, const Uri& uri) {
  const std::string layout =
      "give a folder (or .tar.gz, .zip) with config.json, vocab.txt and model.safetensors or "
      "pytorch_model.bin";
  if (storage.stat(uri)) {
    if (const auto other = foreign_weights(uri)) throw *other;
    throw Error(Code::kBadData,
                "this is neither a directory nor an archive nor a file of parameters",
                uri.to_string(), layout);
  }
  const std::string similar = similar_name(storage, uri);
  throw Error(Code::kNotFound,
              is_archive(uri.file_name()) ? "no such file" : "no such directory or archive",
              uri.to_string(), similar.empty() ? layout : similar);
}

void require_config_beside(Storage& storage, const ModelOptions& options, const Uri& file) {
  const Uri folder = folder_of(file);
  if (!options.model_config.empty() || storage.stat(folder / "config.json") ||
      storage.stat(folder / "bert_config.json")) {
    return;
  }
  throw Error(Code::kNotFound, cat(kNoConfig, " beside it"), file.to_string(), kNoConfigHint);
}

// The directory of the encoder if `uri` is a model of sentence-transformers: modules.json says
// which one. The directory of the finished model if `uri` is a job directory. `uri` itself
// otherwise.
Uri model_directory(Storage& storage, const Uri& uri) {
  if (storage.stat(uri / kModulesFile)) {
    try {
      const std::string path = encoder_path(read_text(storage, uri / kModulesFile).value_or(""));
      if (!path.empty()) return uri / path;
    } catch (const Error& error) {
      throw error.at(uri.to_string());
    }
  }
  if (storage.stat(uri / "config.json") || storage.stat(uri / "bert_config.json")) return uri;
  const Uri finished = JobDirectory(uri).model(), encoder = uri / kTransformerFolder;
  if (storage.stat(finished / "config.json")) return finished;
  return storage.stat(encoder / "config.json") ? encoder : uri;
}

// The parts of a model that is not an archive.
struct Located {
  Uri directory;
  std::optional<Uri> modules{};     // the directory of modules.json, if it is another one
  std::optional<Uri> file{};        // the file of parameters or checkpoint, if the user named one
  std::optional<Uri> parameters{};  // or else the file that the list of the directory showed
};

Located locate_files(Storage& storage, const Uri& uri) {
  if (is_parameter_file(storage, uri) || names_checkpoint(storage, uri)) {
    return {.directory = folder_of(uri), .file = uri};
  }
  Located located{.directory = model_directory(storage, uri)};
  const bool is_inside = located.directory.to_string() != uri.to_string();
  if (is_inside && storage.stat(uri / kModulesFile)) located.modules = uri;
  return located;
}

// The only folder below `folder` that has a config.json, such as the snapshot in a folder of the
// hub's cache. "": there are none or several.
std::string only_model_inside(const std::vector<Stat>& files, const Uri& folder) {
  std::string found;
  for (const Stat& file : files) {
    const Uri uri = Uri::parse(file.name);
    if (uri.file_name() != "config.json") continue;
    if (!found.empty()) return "";
    found = folder_of(uri).to_string();
  }
  return found == folder.to_string() ? "" : found;
}

// Finds the model's parts. Throws the errors that require_model() documents.
Located locate_model(Storage& storage, const ModelOptions& options) {
  Located located = locate_files(storage, Uri::parse(options.model));
  if (located.file) {
    require_config_beside(storage, options, *located.file);
    return located;
  }
  const Uri& directory = located.directory;
  const std::vector<Stat> files = storage.list(directory);
  if (files.empty()) no_such_model(storage, directory);
  if (has_file(files, directory, kAdapterConfigFile)) {
    throw Error(Code::kUsage, "is an adapter, not a whole model", directory.to_string(),
                "give the model that has it merged: berth's is in the folder above, PEFT's is what "
                "merge_and_unload() leaves");
  }
  if (options.model_config.empty() && !has_file(files, directory, "config.json") &&
      !has_file(files, directory, "bert_config.json")) {
    const auto modules = read_text(storage, directory / kModulesFile);
    if (const std::string module = other_encoder(modules.value_or("")); !module.empty()) {
      throw Error(Code::kUsage, cat("berth does not compute the module ", quoted(module)),
                  (directory / kModulesFile).to_string(),
                  "give a model of sentence-transformers that begins with a Transformer");
    }
    const std::string checkpoint = newest_checkpoint(files, directory);
    const std::string inside = only_model_inside(files, directory);
    throw Error(Code::kNotFound, kNoConfig, directory.to_string(),
                !checkpoint.empty()
                    ? cat("the newest checkpoint in it is ", checkpoint, ": name that with --model")
                : !inside.empty() ? cat("a model is in ", inside, ": name that with --model")
                                  : kNoConfigHint);
  }
  located.parameters = find_parameters(files, directory);
  if (options.init == Init::kPretrained && !located.parameters &&
      !find_checkpoint(storage, directory)) {
    throw missing_parameters(storage, directory);
  }
  return located;
}

}  // namespace

void require_model(Storage& storage, const ModelOptions& options) {
  if (!is_packed(storage, Uri::parse(options.model))) locate_model(storage, options);
}

ModelFolder::ModelFolder(Storage& storage, const ModelOptions& options, ModelNeed need)
    : storage_(storage), options_(options), name_(options.model) {
  if (options.model.empty()) return;
  const Uri uri = Uri::parse(options.model);
  name_ = uri.to_string();
  if (!is_packed(storage, uri)) {
    const Located located =
        need == ModelNeed::kWhole ? locate_model(storage, options) : locate_files(storage, uri);
    directory_ = located.directory;
    modules_ = located.modules;
    file_ = located.file;
    parameters_ = located.parameters;
    return;
  }
  Source source{.role = "model", .uri = name_, .checksum = {}};
  temporary_.emplace("model");
  const fs::path unpacked = temporary_->path() / "model";
  try {
    unpack(std::make_unique<ChecksumSource>(storage.open(uri), source.checksum), uri.file_name(),
           unpacked);
  } catch (const Error& error) {
    if (error.where().starts_with(name_)) throw;
    throw error.at(name_);
  }
  sources_.push_back(source);
  const Located located = locate_files(storage, Uri::parse(model_root(unpacked).string()));
  directory_ = located.directory;
  modules_ = located.modules;
}

std::optional<Uri> ModelFolder::locate(std::string_view name) const {
  if (name == "vocab.txt" && !options_.vocab_file.empty()) return Uri::parse(options_.vocab_file);
  // A vocabulary that a flag names replaces the folder's tokenizer.json, which would win otherwise.
  if (name == "tokenizer.json" && !options_.vocab_file.empty()) return std::nullopt;
  if (name == "config.json" && !options_.model_config.empty()) {
    return Uri::parse(options_.model_config);
  }
  if (!directory_) return std::nullopt;
  return *directory_ / name;
}

void ModelFolder::record(const std::string& uri, Bytes bytes) {
  if (temporary_ && uri.starts_with(temporary_->path().string()))
    return;  // the archive itself is the source
  for (const Source& source : sources_) {
    if (source.uri == uri) return;
  }
  sources_.push_back({.role = "model", .uri = uri, .checksum = {}});
  sources_.back().checksum.add(bytes);
}

std::optional<std::string> ModelFolder::read(const Uri& uri) {
  std::optional<std::string> content = read_text(storage_, uri);
  if (!content) return content;
  try {
    refuse_lfs_pointer(*content);
  } catch (const Error& error) {
    throw error.at(uri.to_string());
  }
  record(uri.to_string(), as_bytes(*content));
  return content;
}

Uri ModelFolder::folder_of_modules() const {
  if (modules_) return *modules_;
  const bool is_part = directory_->file_name() == kTransformerFolder;
  return is_part ? folder_of(*directory_) : *directory_;
}

std::optional<std::string> ModelFolder::module_text(std::string_view name) {
  if (!directory_) return std::nullopt;
  return read(folder_of_modules() / name);
}

std::optional<ModelParameters> ModelFolder::module_parameters(std::string_view path) {
  if (!directory_) return std::nullopt;
  const Uri folder = folder_of_modules() / path;
  for (const char* name : kModuleParameters) {
    if (!storage_.stat(folder / name)) continue;
    return open_parameters(storage_, folder / name, folder.to_string(),
                           [this](const Uri& uri, Bytes bytes) { record(uri.to_string(), bytes); });
  }
  return std::nullopt;
}

std::optional<std::string> ModelFolder::text(std::string_view name) {
  const std::optional<Uri> uri = locate(name);
  if (!uri) return std::nullopt;
  std::optional<std::string> content = read(*uri);
  const bool given = (name == "vocab.txt" && !options_.vocab_file.empty()) ||
                     (name == "config.json" && !options_.model_config.empty());
  if (!content && given) {
    throw Error(
        Code::kNotFound, "no such file", uri->to_string(),
        name == "vocab.txt" ? "it is what --vocab-file names" : "it is what --model-config names");
  }
  return content;
}

std::string ModelFolder::config_json() {
  for (const char* name : {"config.json", "bert_config.json"}) {
    if (std::optional<std::string> content = text(name)) return std::move(*content);
  }
  throw Error(Code::kNotFound, kNoConfig, name_, kNoConfigHint);
}

Error ModelFolder::missing_parameters() const {
  if (directory_) {
    const Error error = berth::missing_parameters(storage_, *directory_);
    if (!temporary_) return error;
    return Error(error.code(), error.problem(), name_, error.hint());
  }
  return Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", name_,
               "pass --init random to train from scratch");
}

std::optional<ModelParameters> ModelFolder::parameters() {
  return peeked_ ? std::exchange(peeked_, std::nullopt) : open();
}

const ModelParameters* ModelFolder::peek_parameters() {
  if (!peeked_) peeked_ = open();
  return peeked_ ? &*peeked_ : nullptr;
}

std::optional<ModelParameters> ModelFolder::open() {
  std::optional<Uri> found = file_;
  if (!found) found = parameters_;
  if (!found && directory_) found = find_parameters(storage_.list(*directory_), *directory_);
  const auto opened = [this](const Uri& uri, Bytes bytes) { record(uri.to_string(), bytes); };
  if (found && is_parameter_file(storage_, *found)) {  // not the prefix of several files
    const std::string shown = file_ ? directory_->to_string() : name_;
    return open_parameters(storage_, *found, shown, opened);
  }
  const std::optional<Uri> named = found ? found : directory_;
  const std::optional<Uri> prefix = named ? find_checkpoint(storage_, *named) : std::nullopt;
  if (!prefix) return std::nullopt;
  return open_tensorflow_model(storage_, *prefix, opened);
}

}  // namespace berth
