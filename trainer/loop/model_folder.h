#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/storage.h"
#include "storage/temporary_directory.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/options.h"
#include "trainer/loop/parameter_files.h"

namespace berth {

// Throws kNotFound unless `options.model` is an archive, a file of parameters, a TensorFlow
// checkpoint, or a directory (an earlier job's, too), with what `options` needs of it, kBadData
// where it is another file. Reads little but names.
void require_model(Storage& storage, const ModelOptions& options);

// What a model is opened for: all of it, or its tokenizer, beside which nothing else need be there.
enum class ModelNeed { kWhole, kTokenizer };

// A model's files by name: a directory, or an archive unpacked into a temporary one (removed with
// this), an earlier job's finished model, or a file of parameters or TensorFlow checkpoint and what
// lies beside it, each of --model-config and --vocab-file taking the place of its own. Records what
// was read.
class ModelFolder {
 public:
  // `options.model` is not empty, or at least the config is given (random initialisation). Throws
  // kNotFound when the model is not there.
  ModelFolder(Storage& storage, const ModelOptions& options, ModelNeed need = ModelNeed::kWhole);

  // A text file by its Hugging Face name; nullopt when absent.
  std::optional<std::string> text(std::string_view name);
  // config.json, or bert_config.json. Throws kNotFound.
  std::string config_json();
  // The file or checkpoint that was named, else find_parameters()'s, else find_checkpoint()'s,
  // which comes under Hugging Face names; nullopt when there is none.
  std::optional<ModelParameters> parameters();

  const std::string& name() const { return name_; }  // as the user gave it
  const std::vector<Source>& sources() const { return sources_; }

 private:
  std::optional<Uri> locate(std::string_view name) const;
  void record(const std::string& uri, Bytes bytes);

  Storage& storage_;
  const ModelOptions options_;
  std::string name_;
  std::optional<Uri> directory_;
  std::optional<Uri> file_;  // of parameters, where the user named one
  std::optional<TemporaryDirectory> temporary_;
  std::vector<Source> sources_;
};

}  // namespace berth
