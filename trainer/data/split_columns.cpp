#include "trainer/data/split_columns.h"

#include <algorithm>
#include <set>
#include <string>

#include "storage/base/text.h"

namespace berth {
namespace {

bool is_split_column(std::string_view name) {
  constexpr std::string_view kNames[] = {"split",     "subset",     "fold",
                                         "partition", "is_test",    "is_valid",
                                         "is_train",  "train_test", "dataset_split"};
  return std::ranges::find(kNames, lower_ascii(name)) != std::end(kNames);
}

bool is_split(std::string_view text) {
  constexpr std::string_view kNames[] = {"train", "training",   "trn",     "test",   "testing",
                                         "tst",   "validation", "valid",   "val",    "dev",
                                         "eval",  "evaluation", "holdout", "heldout"};
  return std::ranges::find(kNames, lower_ascii(trimmed(text))) != std::end(kNames);
}

// Whether the column holds several names of splits, and nothing else.
bool holds_splits(std::span<const Row> rows, size_t column) {
  std::set<std::string> splits;
  return std::ranges::all_of(rows,
                             [&](const Row& row) {
                               const auto* text = std::get_if<std::string>(&row[column]);
                               if (text != nullptr) splits.insert(*text);
                               return text != nullptr && is_split(*text);
                             }) &&
         splits.size() > 1;
}

}  // namespace

std::vector<Finding> look_for_splits(std::span<const Column> columns, std::span<const Row> rows,
                                     std::span<const size_t> used) {
  std::vector<Finding> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::find(used, i) != used.end()) continue;
    if (!is_split_column(columns[i].name) && !holds_splits(rows, i)) continue;
    found.push_back({"",
                     cat("column ", quoted(columns[i].name),
                         " is not read, so rows of all splits are alike; write each split into a "
                         "file of its own, such as train.csv and validation.csv"),
                     /*is_warning=*/true});
  }
  return found;
}

}  // namespace berth
