#include <array>

#include "entrypoint/job.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/store_object.h"
#include "storage/whole_file.h"
#include "trainer/loop/tensorflow_files.h"
#include "trainer/model/bert_config.h"

namespace berth {
namespace {

// Text files that belong to the model in either format.
constexpr std::array kTokenizerFiles = {
    "vocab.txt",         "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.json",        "vocab.json",
    "merges.txt",        "spiece.model",          "sentencepiece.bpe.model",
    "spm.model"};

void write_safetensors_to(Storage& storage, const Uri& uri, std::span<const NamedTensor> tensors) {
  uint64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += tensor.data.size();
  store_object(storage, uri,
               [&](ByteSink& sink) {
                 write_safetensors(sink, tensors, {{"format", "pt"}});
               },
               {.if_generation = {}, .size_hint = bytes, .made_of = {}});
}

void write_config(Storage& storage, const Uri& directory, const std::string& json,
                  ExportFormat format) {
  if (format == ExportFormat::kTensorflow) {
    write_text(storage, directory / "bert_config.json", to_bert_config_json(parse_config(json)));
  } else {
    write_text(storage, directory / "config.json", json);
  }
}

}  // namespace

void run_conversion(Job& job) {
  const Uri directory = Uri::parse(job.settings.output.export_dir);
  const ExportFormat format = job.settings.output.export_format;
  ModelFolder folder(job.storage, job.settings.model);
  const std::optional<ModelParameters> parameters = folder.parameters();
  if (!parameters) throw Error(Code::kNotFound, "no parameters", folder.name());
  const auto tensors = parameters->tensors->tensors();
  if (format == ExportFormat::kTensorflow) {
    write_checkpoint(job.storage, directory / "bert_model.ckpt", tensors);
  } else {
    write_safetensors_to(job.storage, directory / "model.safetensors", tensors);
  }
  write_config(job.storage, directory, folder.config_json(), format);
  for (const char* name : kTokenizerFiles) {
    if (const auto text = folder.text(name)) write_text(job.storage, directory / name, *text);
  }
  log_info(cat("converted ", tensors.size(), " tensors of ", parameters->file, " to ",
               directory.to_string()));
}

}  // namespace berth
