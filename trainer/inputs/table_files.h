#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/storage.h"

namespace berth {

// Throws kBadData where the name of one file of a folder says that it is an old or another copy of
// another file there: train.csv beside train_old.csv, "train (1).csv" or "train - Copy.csv".
void refuse_copies(const std::vector<Uri>& files, const Uri& folder);

// Throws kBadData where `names`, relative to the folder `where`, are a table of Delta Lake, Apache
// Iceberg or Apache Hudi. Only its log says which of its files hold rows of now.
void refuse_logged_table(const std::vector<std::string>& names, const std::string& where);

// A sentence that says which part of a table is missing, as train-00001-of-00003.parquet is beside
// 0 and 2. Empty: all parts are there, or the names of the files count no parts.
std::string missing_part(const std::vector<Uri>& files);

// The part of the path of a file that was found below `asked`, which is a folder or a pattern.
// Empty: `asked` is the file itself.
std::string_view path_below(const Uri& file, const Uri& asked);

// Throws kBadData where `names`, relative to the folder `where`, are a layout that is known and not
// read: annotations of brat, or a folder for each class.
void refuse_layout(const std::vector<std::string>& names, const std::string& where);

// Throws kBadData if at least two folders beside one another hold plain text, a file for each text.
// sklearn.datasets.load_files and Keras read the folders' names as classes. `names` are paths.
void refuse_class_folders(const std::vector<std::string>& names, const std::string& where);

// Adds columns that the names of folders hold, as Hive, Spark and pyarrow write partitioned tables:
// "label=1/part-0.parquet" is a part of a table whose column "label" is 1 in all of its rows. The
// value is a text, or missing where the name says __HIVE_DEFAULT_PARTITION__. A column of the file
// outranks one of a folder, and "split=train" names a split. `path` is the file's path below the
// folder of the table. Returns `rows` itself where no folder has such a name.
std::unique_ptr<RowReader> with_folder_columns(std::unique_ptr<RowReader> rows,
                                               std::string_view path);

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
