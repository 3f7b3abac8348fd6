#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/inspect/column_summary.h"
#include "entrypoint/inspect/inspect.h"
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
#include "trainer/model/config.h"

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

// One line about the model that the configuration in `folder` describes. Empty without one.
std::string config_line(Storage& storage, const Uri& folder) {
  for (const char* name : {"config.json", "bert_config.json"}) {
    const std::optional<std::string> json = read_text(storage, folder / name);
    if (!json) continue;
    try {
      const ModelConfig config = parse_config(*json);
      std::string labels;
      for (const std::string& label : config.labels) labels += (labels.empty() ? "" : ", ") + label;
      return cat("  ", model_type_name(config.type), ", ", config.num_hidden_layers,
                 " layers, hidden size ", config.hidden_size, ", ", config.num_attention_heads,
                 " heads, ", config.max_sequence_length(), " positions, vocabulary ",
                 grouped(static_cast<uint64_t>(config.vocab_size)),
                 labels.empty() ? "" : ", labels " + cut_text(labels, 200), "\n");
    } catch (const Error& error) {
      return cat("  ", name, ": ", error.what(), "\n");
    }
  }
  return "";
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
                      " parameters, ", human_bytes(bytes), "\n", config_line(storage, model.folder),
                      lines),
          .json = cat("{\"format\":\"", model.format, "\",\"tensors\":[", list, "]}")};
}

}  // namespace berth
