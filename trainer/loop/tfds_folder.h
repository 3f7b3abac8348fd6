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

// The one that `file` lies in; nullopt: its folder is none. Throws kBadData where features.json is
// damaged.
std::optional<TfdsFolder> find_tfds_folder(Storage& storage, const Uri& file);

// Of such a folder's files the records of the split that `role` reads: train; else validation, or
// test where there is none. All records where they are of one split.
std::vector<Uri> split_files(const std::vector<Uri>& files, const std::string& role);

}  // namespace berth
