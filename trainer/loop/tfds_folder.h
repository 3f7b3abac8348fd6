#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/formats/row_readers.h"
#include "storage/storage.h"

namespace berth {

// A folder that TensorFlow Datasets wrote: features.json, dataset_info.json, FEATURE.labels.txt for
// each class label, and shards NAME-SPLIT.tfrecord-00000-of-00001 of tf.Examples whose features are
// the texts and labels themselves.
struct TfdsFolder {
  ClassNames class_names;
};

// Returns the folder that contains `file` if TensorFlow Datasets wrote it, and nullopt otherwise.
// Throws kBadData if features.json is damaged.
std::optional<TfdsFolder> find_tfds_folder(Storage& storage, const Uri& file);

// Returns the record files of such a folder that belong to the split for `role`, as split_for()
// says.
std::vector<Uri> split_files(const std::vector<Uri>& files, const std::string& role);

}  // namespace berth
