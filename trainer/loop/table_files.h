#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace berth {

// The files that a data path names for a role. It is expand() for tables, which may be compressed,
// and of a folder of Hugging Face's datasets it is the split for the role (split_folder.h). Throws
// kBadData if a folder is laid out in a way that is not read, or holds copies of a table as
// refuse_copies() finds them. The error says what to do.
std::vector<Uri> table_files(Storage& storage, const std::string& path, const std::string& role);

// Throws kBadData where the name of one file of a folder says that it is an old or another copy of
// another file there: train.csv beside train_old.csv, "train (1).csv" or "train - Copy.csv".
void refuse_copies(const std::vector<Uri>& files, const Uri& folder);

// The part of the path of a file that was found below `asked`, which is a folder or a pattern.
// Empty: `asked` is the file itself.
std::string_view path_below(const Uri& file, const Uri& asked);

// Throws kBadData if at least two folders beside one another hold plain text, a file for each text.
// sklearn.datasets.load_files and Keras read the folders' names as classes. `names` are paths.
void refuse_class_folders(const std::vector<std::string>& names, const std::string& where);

}  // namespace berth
