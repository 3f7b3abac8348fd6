#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/inspect/column_summary.h"
#include "entrypoint/inspect/inspect.h"
#include "entrypoint/inspect/model_lines.h"
#include "storage/base/checksum.h"
#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/whole_file.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/parameter_files.h"
#include "trainer/loop/tensorflow_files.h"

namespace berth {
namespace {

struct OpenedModel {
  std::string format;
  ModelParameters parameters;
  Uri folder;
};

OpenedModel open_file(Storage& storage, const Uri& uri) {
  const std::string name = uri.file_name();
  const bool is_safetensors = name.find(".safetensors") != std::string::npos;
  const Uri folder = folder_of(uri);
  return {.format = is_safetensors ? "safetensors" : "pytorch",
          .parameters = open_parameters(storage, uri, folder.to_string(), [](const Uri&, Bytes) {}),
          .folder = folder};
}

OpenedModel open(Storage& storage, const Uri& uri) {
  if (storage.stat(uri) && names_parameters(uri.file_name())) return open_file(storage, uri);
  for (const Uri& folder : {uri, JobDirectory(uri).model()}) {
    if (const auto file = find_parameters(storage, folder)) return open_file(storage, *file);
  }
  const std::optional<Uri> prefix = find_checkpoint(storage, uri);
  if (!prefix && storage.list(uri).empty()) {
    throw Error(Code::kNotFound, "no such file or directory", uri.to_string(),
                similar_name(storage, uri));
  }
  if (!prefix) {
    throw Error(Code::kBadData, "there is no model here that berth can read", uri.to_string(),
                "berth reads safetensors, PyTorch's .bin and TensorFlow checkpoints");
  }
  return {.format = "tensorflow",
          .parameters = open_checkpoint(storage, *prefix, [](const Uri&, Bytes) {}),
          .folder = folder_of(*prefix)};
}

std::string shape_text(const NamedTensor& tensor) {
  std::string text = "[";
  for (const int64_t size : tensor.shape) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  }
  return text + "]";
}

// Lines about the model that the configuration in `folder` describes. Empty without one.
std::string model_lines(Storage& storage, const Uri& folder) {
  for (const char* name : {"config.json", "bert_config.json"}) {
    const std::optional<std::string> json = read_text(storage, folder / name);
    if (!json) continue;
    try {
      return model_lines(parse_config(*json));
    } catch (const Error& error) {
      return cat("  ", name, ": ", error.what(), "\n");
    }
  }
  return "";
}

// The files of a tokenizer that lie beside the parameters.
std::string tokenizer_line(Storage& storage, const Uri& folder) {
  std::string files;
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt",
                           "spiece.model", "sentencepiece.bpe.model", "spm.model"}) {
    if (storage.stat(folder / name)) files += cat(files.empty() ? "" : ", ", name);
  }
  return summary_line("tokenizer", files.empty() ? "no files" : files);
}

// "BF16 71, F32 2": how many tensors there are of each type.
std::string types_line(std::span<const NamedTensor> tensors) {
  std::map<std::string_view, size_t> counts;
  for (const NamedTensor& tensor : tensors) ++counts[name_of(tensor.dtype)];
  std::string text;
  for (const auto& [name, count] : counts) {
    text += cat(text.empty() ? "" : ", ", count, " of ", name);
  }
  return summary_line("tensors", text);
}

}  // namespace

Inspection inspect_tensors(Storage& storage, const Uri& uri) {
  const OpenedModel model = open(storage, uri);
  model.parameters.verify();
  const auto tensors = model.parameters.tensors->tensors();
  // A file may name millions of tensors. One JSON value of all would take a KiB for each.
  std::string lines, list;
  uint64_t elements = 0, bytes = 0;
  size_t widest = 0;
  for (const NamedTensor& tensor : tensors) widest = std::max(widest, shape_text(tensor).size());
  for (const NamedTensor& tensor : tensors) {
    elements += static_cast<uint64_t>(tensor.elements());
    bytes += tensor.data.size();
    list += list.empty() ? "" : ",";
    list += to_text(OrderedJson{{"name", tensor.name},
                                {"dtype", name_of(tensor.dtype)},
                                {"shape", tensor.shape},
                                {"crc32c", crc_text(crc32c(tensor.data))}});
    const std::string shape = shape_text(tensor);
    const std::string_view dtype = name_of(tensor.dtype);
    lines += cat("  ", dtype, std::string(6 - dtype.size(), ' '), shape,
                 std::string(widest - shape.size() + 2, ' '), tensor.name, "\n");
  }
  return {.text = cat(model.parameters.file, ": ", model.format, ", ", tensors.size(),
                      tensors.size() == 1 ? " tensor, " : " tensors, ", grouped(elements),
                      " parameters, ", human_bytes(bytes), "\n", model_lines(storage, model.folder),
                      tokenizer_line(storage, model.folder), types_line(tensors), "\n", lines),
          .json = cat("{\"format\":\"", model.format, "\",\"tensors\":[", list, "]}")};
}

}  // namespace berth
