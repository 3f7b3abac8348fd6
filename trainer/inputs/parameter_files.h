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
#include "trainer/weights/tensorflow_model.h"

namespace berth {

// The names of parameter files in Hugging Face layout, in the order in which transformers looks for
// them.
inline constexpr std::array kParameterFiles = {"model.safetensors", "model.safetensors.index.json",
                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

// The same for a module of sentence-transformers.
inline constexpr std::array kModuleParameters = {"model.safetensors", "pytorch_model.bin"};

// Whether a file of this name holds parameters, or is the index of files that do: .safetensors,
// .bin, .pt, .pth, .ckpt (Lightning's), .index.json.
bool names_parameters(std::string_view file_name);

// The folder's file of parameters: the first of kParameterFiles that exists, or else the only file
// for which names_parameters() is true. nullopt if there is no such file, if there are several, or
// if it is one of several shards. `objects` are all objects below `folder`.
std::optional<Uri> find_parameters(const std::vector<Stat>& objects, const Uri& folder);

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

// The error for a file that `--model` names, if its name belongs to a format that berth does not
// read.
std::optional<Error> foreign_weights(const Uri& file);

// Opens the file `uri`, for which names_parameters() is true. If it is an index, opens the shards
// beside it. Local files are mapped and not copied. Calls `opened` with each file that was read.
// Messages call the folder `shown_folder`. Throws kNotFound for a missing shard, and as the readers
// do.
ModelParameters open_parameters(Storage& storage, const Uri& uri, const std::string& shown_folder,
                                const std::function<void(const Uri&, Bytes)>& opened);

// The folder that holds `file`.
Uri folder_of(const Uri& file);

// Whether `uri` is the prefix of a TensorFlow checkpoint or one of its files.
bool names_checkpoint(Storage& storage, const Uri& uri);

// The prefix of the TensorFlow checkpoint that `uri` names. `uri` may be the prefix, one of its
// files, or a directory. In a directory, it is the checkpoint that the file "checkpoint" names as
// the latest, or else the only one. Returns nullopt if there is no checkpoint. Throws kBadData if a
// directory has several and does not say which one is the latest.
std::optional<Uri> find_checkpoint(Storage& storage, const Uri& uri);

// Opens all variables of the checkpoint `prefix` under their own names. Local files are mapped and
// not copied. Another thread calls `opened` with each file, which also reads the files ahead of the
// tensors' user, and verifies the tensors. verify() waits for it. Throws kNotFound for a missing
// shard, and as TensorBundleReader does.
ModelParameters open_checkpoint(Storage& storage, const Uri& prefix,
                                const std::function<void(const Uri&, Bytes)>& opened);

// The same for a BERT or ALBERT. The tensors have Hugging Face names and shapes.
ModelParameters open_tensorflow_model(Storage& storage, const Uri& prefix,
                                      const std::function<void(const Uri&, Bytes)>& opened);

// Writes the tensors of a BERT or ALBERT, which have Hugging Face names, as the TensorFlow
// checkpoint `prefix` with TF1 names. Replaces an earlier checkpoint. Throws kUsage, naming the
// tensor, if it belongs to another architecture.
void write_checkpoint(Storage& storage, const Uri& prefix, std::span<const NamedTensor> tensors);
// The same of variables that were made before.
void write_checkpoint(Storage& storage, const Uri& prefix, const TensorflowVariables& variables);

}  // namespace berth
