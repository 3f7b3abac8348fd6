#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/tensor_file.h"
#include "storage/storage.h"

namespace berth {

// How folders in Hugging Face layout name their parameters, in the order in which transformers
// looks.
inline constexpr std::array kParameterFiles = {"model.safetensors", "model.safetensors.index.json",
                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

// Whether a file of this name holds parameters, or is the index of files that do: .safetensors,
// .bin, .pt, .pth, .index.json.
bool names_parameters(std::string_view file_name);

// The folder's file of parameters: the first of kParameterFiles that is there, else its only file
// with the name of one. nullopt: none, or several.
std::optional<Uri> find_parameters(Storage& storage, const Uri& folder);

// A model's tensors, and all that they are borrowed from.
struct ModelParameters {
  std::string file;  // where they were found, for messages
  std::unique_ptr<TensorReader> tensors;

  // As the tensors do, naming the file, too.
  void verify() const;
};

// Opens the file `uri`, whose name is one of names_parameters(), or the shards beside the index
// that it is. Local files are mapped, not copied. `opened` is told what was read; messages call the
// folder `shown_folder`. Throws kNotFound for a shard that is not there, and as the readers do.
ModelParameters open_parameters(Storage& storage, const Uri& uri, const std::string& shown_folder,
                                const std::function<void(const Uri&, Bytes)>& opened);

// The folder that holds `file`.
Uri folder_of(const Uri& file);

}  // namespace berth
