#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace berth {

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
