#pragma once

#include <functional>
#include <optional>
#include <string>

#include "storage/storage.h"
#include "trainer/loop/parameter_files.h"

namespace berth {

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

}  // namespace berth
