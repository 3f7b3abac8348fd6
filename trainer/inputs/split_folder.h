#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace berth {

// A folder of splits, in one of four forms, of which Hugging Face's library `datasets` writes
// three:
//
//   Dataset.save_to_disk():      state.json | data-00000-of-00001.arrow
//   DatasetDict.save_to_disk():  dataset_dict.json | a folder for each split as above
//   a repository of the hub:     [data/]train-00000-of-00002.parquet | ...
//   tables named as splits:      train.csv | dev.csv | test.csv, or train/a.csv | test/a.csv
//                                (named_splits())
//
// Other files in the first three forms, such as cache-*.arrow, hold no rows.
struct SplitFolder {
  std::map<std::string, std::vector<Uri>> splits;  // the files of each in the order of their rows
};

// Looks for splits among `names`, all objects below `uri`, relative to it and sorted. `uri` is a
// folder or an archive. Returns nullopt if there are none. Throws kBadData where a folder of splits
// is damaged, where several lie below `uri`, or where names leave open which rows are for training.
// Reads the files that list splits.
std::optional<SplitFolder> splits_among(Storage& storage, const Uri& uri,
                                        const std::vector<std::string>& names);

// Whether a file of this name describes a data set, such as dataset_infos.json or LICENSE.txt. Such
// a file has no rows, although its suffix is a table's.
bool describes_data_set(std::string_view file_name);

// The name of the split for a role. The role "train" reads the split train. Others read validation
// or else test, and "predict" test or else validation; "eval_mm" is MNLI's second evaluation. If no
// split has such a name, a single split with the same meaning counts: "dev" means validation. If
// there is only one split, it serves every role except "eval_mm". Returns nullopt if there is none,
// or several.
std::optional<std::string> split_for(const std::map<std::string, std::vector<Uri>>& splits,
                                     const std::string& role);

// The files of that split. Throws kBadData, naming the splits, if there is none.
const std::vector<Uri>& files_for(const std::map<std::string, std::vector<Uri>>& splits,
                                  const std::string& role);

// The same for a folder. The role "train" does not read a split to test or validate, even if there
// is no other one.
const std::vector<Uri>& files_for(const SplitFolder& folder, const std::string& role);

// The splits of a folder whose tables are named after them: train.csv | dev.csv | news_test.csv, or
// train/a.csv | test/a.csv. `names` are relative to `folder`, and sorted. A file of plain text
// counts as a table if there are no others.
//
// Returns nullopt if no table, or each of them, is for training by its name: they are all rows of
// one table. Throws kBadData where names leave open which rows are for training: some tables name
// a split and others none, or splits lie in several folders.
std::optional<std::map<std::string, std::vector<Uri>>> named_splits(
    const std::vector<std::string>& names, const Uri& folder);

// The split that a table's name means, relative to its folder: "train", "validation", "test",
// "validation_matched" and so on; "" for others, and for a name of several splits.
std::string named_split(std::string_view name);

}  // namespace berth
