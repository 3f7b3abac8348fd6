#pragma once

#include <functional>
#include <optional>
#include <string>

#include "storage/storage.h"
#include "trainer/loop/parameter_files.h"

namespace berth {

// Whether `uri` is a TensorFlow checkpoint's prefix, or one of its files.
bool names_checkpoint(Storage& storage, const Uri& uri);

// The prefix of the TensorFlow checkpoint that `uri` means: of one of its files, the prefix itself,
// or a directory's: what its "checkpoint" file names as the latest, else its only one. nullopt: it
// means none. Throws kBadData where a directory has several and does not say which.
std::optional<Uri> find_checkpoint(Storage& storage, const Uri& uri);

// All variables of the checkpoint `prefix` under their own names. Local files are mapped, not
// copied. `opened` is told what was read, of the shards on another thread, which reads ahead of the
// tensors' own reader: it is done when they are verified. Throws kNotFound for a missing shard, and
// as TensorBundleReader does.
ModelParameters open_checkpoint(Storage& storage, const Uri& prefix,
                                const std::function<void(const Uri&, Bytes)>& opened);

// The same, a BERT or ALBERT, under Hugging Face names and in its shapes.
ModelParameters open_tensorflow_model(Storage& storage, const Uri& prefix,
                                      const std::function<void(const Uri&, Bytes)>& opened);

// A BERT's or ALBERT's tensors, under Hugging Face names, as the TensorFlow checkpoint `prefix`,
// under TF1 names; another of that name is replaced. Throws kUsage, naming the tensor, for another
// architecture's.
void write_checkpoint(Storage& storage, const Uri& prefix, std::span<const NamedTensor> tensors);

}  // namespace berth
