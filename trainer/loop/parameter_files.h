#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/formats/tensor_file.h"
#include "storage/storage.h"

namespace berth {

// The names of parameter files in Hugging Face layout, in the order in which transformers looks for
// them.
inline constexpr std::array kParameterFiles = {"model.safetensors", "model.safetensors.index.json",
                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

// Whether a file of this name holds parameters, or is the index of files that do: .safetensors,
// .bin, .pt, .pth, .ckpt (Lightning's), .index.json.
bool names_parameters(std::string_view file_name);

// The folder's file of parameters: the first of kParameterFiles that exists, or else the only file
// for which names_parameters() is true. nullopt if there is no such file or if there are several.
std::optional<Uri> find_parameters(Storage& storage, const Uri& folder);

// The newest folder "checkpoint-STEP" of transformers' Trainer with parameters among `files`, which
// lie below `folder`. "" where there is none.
std::string newest_checkpoint(const std::vector<Stat>& files, const Uri& folder);

// Why `folder`, for which find_parameters() found nothing, has no parameters, and what to do: its
// checkpoints have them, or it has several files, weights in a format that berth does not read, or
// none.
Error missing_parameters(Storage& storage, const Uri& folder);

// A model's tensors and everything from which they are borrowed.
struct ModelParameters {
  std::string file;  // the file or folder of the tensors, for messages
  std::unique_ptr<TensorReader> tensors;

  // Calls verify() of the tensors. Errors also name the file.
  void verify() const;
};

// Opens the file `uri`, for which names_parameters() is true. If it is an index, opens the shards
// beside it. Local files are mapped and not copied. Calls `opened` with each file that was read.
// Messages call the folder `shown_folder`. Throws kNotFound for a missing shard, and as the readers
// do.
ModelParameters open_parameters(Storage& storage, const Uri& uri, const std::string& shown_folder,
                                const std::function<void(const Uri&, Bytes)>& opened);

// The folder that holds `file`.
Uri folder_of(const Uri& file);

}  // namespace berth
