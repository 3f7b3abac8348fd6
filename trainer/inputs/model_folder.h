#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/file_lock.h"
#include "storage/storage.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/parameter_files.h"

namespace berth {

// Checks that `options.model` exists and has what `options` needs of it. It may be an archive, a
// file of parameters, a TensorFlow checkpoint, or a directory of a model or an earlier job. Throws
// kNotFound if it is absent or incomplete, and kBadData if it is another kind of file. Reads little
// more than names.
void require_model(Storage& storage, const ModelOptions& options);

// What is needed of a model: all of it, or only its tokenizer. In the latter case, other files may
// be absent.
enum class ModelNeed { kWhole, kTokenizer };

// The files of a model by name. The model is a directory, the finished model of an earlier job, or
// an archive. It may also be a file of parameters or a TensorFlow checkpoint, with the files beside
// it. An archive is unpacked into a temporary directory, which is removed with this object.
// --model-config and --vocab-file replace the model's own files. Records what was read.
class ModelFolder {
 public:
  // `options.model` may be empty only if the config is given (random initialisation). Throws
  // kNotFound if the model does not exist.
  ModelFolder(Storage& storage, const ModelOptions& options, ModelNeed need = ModelNeed::kWhole);

  // Reads a text file by its Hugging Face name. Returns nullopt if it is absent.
  std::optional<std::string> text(std::string_view name);
  // The same for a file of the folder that lists the modules of a sentence-transformers model. The
  // encoder's folder may be inside that folder.
  std::optional<std::string> module_text(std::string_view name);
  // Opens the parameters of a module, which are in the folder `path` of that folder. nullopt: there
  // are none.
  std::optional<ModelParameters> module_parameters(std::string_view path);
  // Reads config.json or bert_config.json. Throws kNotFound if both are absent.
  std::string config_json();
  // Opens the parameters: the file or checkpoint that the user named, or else what
  // find_parameters() or find_checkpoint() finds. Tensors of a checkpoint have Hugging Face names.
  // Returns nullopt if there is nothing to open.
  std::optional<ModelParameters> parameters();

  // The same, without taking them: the next call of parameters() returns what this one opened.
  // Null: there is nothing to open.
  const ModelParameters* peek_parameters();

  // Why parameters() returned nullopt, and what to do.
  Error missing_parameters() const;

  const std::string& name() const { return name_; }  // as the user gave it
  const std::vector<Source>& sources() const { return sources_; }

 private:
  std::optional<Uri> locate(std::string_view name) const;
  Uri folder_of_modules() const;
  std::optional<std::string> read(const Uri& uri);
  std::optional<ModelParameters> open();
  void record(const std::string& uri, Bytes bytes);

  Storage& storage_;
  const ModelOptions options_;
  std::string name_;
  std::optional<Uri> directory_;
  std::optional<Uri> modules_;     // the directory of modules.json, if it is another one
  std::optional<Uri> file_;        // the file of parameters, if the user named one
  std::optional<Uri> parameters_;  // the file of parameters that a list of the directory showed
  std::optional<TemporaryDirectory> temporary_;
  std::vector<Source> sources_;
  std::optional<ModelParameters> peeked_;
};

}  // namespace berth
