#include "entrypoint/modes/conversion.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/hub_model.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/onnx_conversion.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"
#include "storage/store_object.h"
#include "storage/whole_file.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/sentence_files.h"
#include "trainer/loop/tensorflow_files.h"
#include "trainer/model/bert_config.h"

namespace berth {
namespace {

// The files that belong to the model in every format: its tokenizer's, its card and its licence.
constexpr std::array kKeptFiles = {"vocab.txt",
                                   "tokenizer_config.json",
                                   "special_tokens_map.json",
                                   "added_tokens.json",
                                   "tokenizer.json",
                                   "vocab.json",
                                   "merges.txt",
                                   "spiece.model",
                                   "sentencepiece.bpe.model",
                                   "spm.model",
                                   "README.md",
                                   "LICENSE",
                                   "LICENSE.txt",
                                   "NOTICE"};

void write_safetensors_to(Storage& storage, const Uri& uri, std::span<const NamedTensor> given) {
  // Wider types come first, so that each tensor is aligned.
  std::vector<NamedTensor> tensors(given.begin(), given.end());
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_of(a.dtype) > size_of(b.dtype);
  });
  uint64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += tensor.data.size();
  store_object(storage, uri,
               [&](ByteSink& sink) {
                 lend_safetensors(sink, tensors, {{"format", "pt"}});
               },
               {.if_generation = {}, .size_hint = bytes});
}

// The config.json `json`, changed only where the transformers library needs it to load the tensors.
std::string config_of(const std::string& json, std::optional<DType> dtype) {
  OrderedJson object = parse_ordered_json(json);
  if (!object.is_object() || (object.contains("model_type") && !dtype)) return json;
  if (!object.contains("model_type")) {  // a bert_config.json
    object["model_type"] = model_type_name(parse_config(json).type);
  }
  if (dtype) {
    object.erase("torch_dtype");
    object["dtype"] = torch_dtype_name(*dtype);
  }
  return to_text(object, 2) + "\n";
}

// The files of a model in one format. They are made before the first of them is written, so that a
// model that cannot be converted leaves none.
class ConvertedModel {
 public:
  ConvertedModel(const Settings& settings, ModelFolder& folder, const TensorReader& file)
      : format_(settings.output.export_format) {
    const std::optional<DType> dtype = settings.output.export_dtype;
    switch (format_) {
      case ExportFormat::kOnnx:
        onnx_.emplace(settings, folder);
        break;
      case ExportFormat::kTensorflow:
        tensors_.emplace(file);
        config_ = to_bert_config_json(parse_config(folder.config_json()));
        break;
      case ExportFormat::kSafetensors:
        tensors_.emplace(file, dtype);
        config_ = config_of(folder.config_json(), dtype);
    }
  }

  void write(Storage& storage, const Uri& directory) const {
    switch (format_) {
      case ExportFormat::kOnnx:
        return onnx_->write(storage, directory);
      case ExportFormat::kTensorflow:
        write_checkpoint(storage, directory / "bert_model.ckpt", tensors_->tensors());
        return write_text(storage, directory / "bert_config.json", config_);
      case ExportFormat::kSafetensors:
        write_safetensors_to(storage, directory / "model.safetensors", tensors_->tensors());
        write_text(storage, directory / "config.json", config_);
    }
  }

 private:
  const ExportFormat format_;
  std::optional<OnnxConversion> onnx_;       // for ONNX
  std::optional<ConvertedTensors> tensors_;  // for the other formats
  std::string config_;
};

}  // namespace

void run_conversion(Job& job) { convert_model(job, job.command_line.settings); }

void convert_model(Job& job, const Settings& asked) {
  Storage& storage = job.storage;
  Settings settings = asked;
  settings.model.model = local_or_hub_model(storage, asked.model.model);
  if (settings.output.export_adapter) {
    throw Error(Code::kUsage, "a finished model has no adapter to export", "--export-adapter",
                "give the --job-dir of a LoRA job whose checkpoints are still there");
  }
  preflight(storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  ModelFolder folder(storage, settings.model);
  const std::optional<ModelParameters> parameters = folder.parameters();
  if (!parameters) throw Error(Code::kNotFound, "the model has no parameters", folder.name());
  parameters->verify();
  const TensorReader& file = *parameters->tensors;
  if (file.tensors().empty()) {
    throw Error(Code::kBadData, "holds no tensor of numbers", parameters->file,
                "name another file, or fetch it again");
  }
  const ConvertedModel converted(settings, folder, file);
  const OutputLocks lock(directory, job.fences, job.stop);
  converted.write(storage, directory);
  for (const char* name : kKeptFiles) {
    if (const auto text = folder.text(name)) write_text(storage, directory / name, *text);
  }
  if (settings.output.export_format != ExportFormat::kOnnx) {  // OnnxConversion writes its own
    copy_sentence_files(folder, storage, directory);
  }
  log_info(cat("converted ", counted(file.tensors().size(), "tensor"), " of ", parameters->file,
               " to ", directory.to_string()));
}

}  // namespace berth
