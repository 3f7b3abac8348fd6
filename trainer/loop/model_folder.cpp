#include "trainer/loop/model_folder.h"

#include <stdlib.h>

#include <system_error>

#include "storage/archive.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

fs::path make_temporary_directory() {
  std::string pattern = (fs::temp_directory_path() / "berth-model-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error(Code::kNotPermitted, "cannot make a temporary directory", pattern,
                "point TMPDIR at a writable place");
  }
  return pattern;
}

bool holds_config(const fs::path& directory) {
  return fs::exists(directory / "config.json") || fs::exists(directory / "bert_config.json");
}

// Archives often hold one folder that holds the files.
fs::path model_root(const fs::path& unpacked) {
  if (holds_config(unpacked)) return unpacked;
  for (const fs::directory_entry& entry : fs::directory_iterator(unpacked)) {
    if (entry.is_directory() && holds_config(entry.path())) return entry.path();
  }
  return unpacked;
}

}  // namespace

ModelFolder::ModelFolder(Storage& storage, const ModelOptions& options)
    : storage_(storage), options_(options), name_(options.model) {
  if (options.model.empty()) return;
  const Uri uri = Uri::parse(options.model);
  if (!is_archive(uri.file_name())) {
    directory_ = uri;
    if (storage.list(uri).empty()) {
      const bool is_file = storage.stat(uri).has_value();
      throw Error(
          is_file ? Code::kBadData : Code::kNotFound,
          is_file ? "is neither a directory nor an archive" : "no such directory or archive",
          options.model,
          "give a folder (or .tar.gz, .zip) with config.json, vocab.txt and model.safetensors");
    }
    return;
  }
  Source source{.role = "model", .uri = options.model, .checksum = {}};
  auto stored = std::make_unique<ChecksumSource>(storage.open(uri), source.checksum);
  temporary_ = make_temporary_directory();
  try {
    unpack(std::move(stored), uri.file_name(), temporary_ / "model");
  } catch (const Error& error) {
    fs::remove_all(temporary_);
    if (error.where().starts_with(options.model)) throw;
    throw error.at(options.model);
  }
  sources_.push_back(source);
  directory_ = Uri::parse(model_root(temporary_ / "model").string());
}

ModelFolder::~ModelFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

std::optional<Uri> ModelFolder::locate(std::string_view name) const {
  if (name == "vocab.txt" && !options_.vocab_file.empty()) return Uri::parse(options_.vocab_file);
  if (name == "config.json" && !options_.model_config.empty()) {
    return Uri::parse(options_.model_config);
  }
  if (!directory_) return std::nullopt;
  return *directory_ / name;
}

void ModelFolder::record(const std::string& uri, Bytes bytes) {
  if (!temporary_.empty() && uri.starts_with(temporary_.string()))
    return;  // the archive stands for it
  for (const Source& source : sources_) {
    if (source.uri == uri) return;
  }
  sources_.push_back({.role = "model", .uri = uri, .checksum = {}});
  sources_.back().checksum.add(bytes);
}

std::optional<std::string> ModelFolder::text(std::string_view name) {
  const std::optional<Uri> uri = locate(name);
  if (!uri) return std::nullopt;
  std::optional<std::string> content = read_text(storage_, *uri);
  if (content) record(uri->to_string(), as_bytes(*content));
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
  throw Error(Code::kNotFound, "no config.json or bert_config.json", name_,
              "pass --model-config, or a --model that has one");
}

std::optional<WholeFile> ModelFolder::parameters() {
  const std::optional<Uri> uri = locate("model.safetensors");
  if (!uri || !storage_.stat(*uri)) return std::nullopt;
  std::optional<WholeFile> file(std::in_place, storage_, *uri);
  record(uri->to_string(), file->bytes());
  return file;
}

}  // namespace berth
