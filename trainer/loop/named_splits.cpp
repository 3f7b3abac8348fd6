#include "trainer/loop/named_splits.h"

#include <algorithm>
#include <utility>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "trainer/loop/split_folder.h"

namespace berth {
namespace {

using Splits = std::map<std::string, std::vector<Uri>>;

// The split that a part of a name says: "Test2", "trainset" and "val" do.
std::string split_of_part(std::string part) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"train", "train"},
                                                                      {"training", "train"},
                                                                      {"trn", "train"},
                                                                      {"validation", "validation"},
                                                                      {"valid", "validation"},
                                                                      {"val", "validation"},
                                                                      {"dev", "validation"},
                                                                      {"eval", "validation"},
                                                                      {"evaluation", "validation"},
                                                                      {"test", "test"},
                                                                      {"testing", "test"},
                                                                      {"tst", "test"},
                                                                      {"holdout", "test"},
                                                                      {"heldout", "test"}};
  part.erase(part.find_last_not_of("0123456789") + 1);
  for (const std::string_view end : {"data", "set"}) {
    if (part.ends_with(end)) part.erase(part.size() - end.size());
  }
  const auto* const found =
      std::ranges::find(kNames, part, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kNames) ? "" : std::string(found->second);
}

// The split that one part of a path says, such as "news_train.csv" or "split=train". "?": several.
std::string split_of_text(std::string_view text) {
  std::string found, half;
  for (const std::string& part : parted(lower_ascii(text), "_-. =")) {
    if (part == "matched" || part == "mismatched") half = "_" + part;
    const std::string split = split_of_part(part);
    if (!split.empty()) found = found.empty() || found == split ? split : "?";
  }
  return found.empty() || found == "?" ? found : found + half;
}

struct NamedTable {
  std::string split, place;  // the place has no part that names the split
};

// A directory that says a split outranks the name of the file. The first `shared` characters are
// not looked at.
NamedTable table_of(std::string_view name, size_t shared = 0) {
  for (size_t begin = shared, end = 0; (end = name.find('/', begin)) != std::string_view::npos;
       begin = end + 1) {
    const std::string split = split_of_text(name.substr(begin, end - begin));
    if (!split.empty()) return {split, std::string(name.substr(0, begin))};
  }
  const size_t begin = name.rfind('/') + 1;  // 0 without a slash
  return {split_of_text(name.substr(begin)), std::string(name.substr(0, begin))};
}

// Whether a table of this name stands beside splits and has no rows of theirs.
bool accompanies_splits(std::string_view file_name) {
  constexpr std::string_view kStems[] = {
      "labels",  "label_map",         "labelmap",         "label2id",   "id2label", "label_names",
      "classes", "sample_submission", "samplesubmission", "submission", "vocab",    "mapping"};
  const std::string stem = lower_ascii(file_name.substr(0, file_name.find('.')));
  return std::ranges::find(kStems, stem) != std::end(kStems);
}

std::vector<std::string> tables_among(const std::vector<std::string>& names) {
  std::vector<std::string> tables;
  for (const std::string& name : names) {
    const std::string_view file = last_part(name);
    // A table may be called "_train.csv"; folders such as "_delta_log" hold none.
    const std::string_view place = std::string_view(name).substr(0, name.size() - file.size());
    if (hidden_by(place) != 0 || (hidden_by(file) != 0 && !file.starts_with('_'))) continue;
    if (is_table(without_compression_suffix(file)) && !describes_data_set(file)) {
      tables.push_back(name);
    }
  }
  const auto is_text = [](const std::string& name) {
    return is_plain_text(without_compression_suffix(last_part(name)));
  };
  // A .txt in a folder of tables is a README or a licence.
  if (!std::ranges::all_of(tables, is_text)) std::erase_if(tables, is_text);
  return tables;
}

// The length of the directory in which all tables lie. It says no split: "news_test/train.csv".
size_t shared_directory(const std::vector<std::string>& tables) {
  std::string shared = tables.empty() ? "" : tables.front();
  for (const std::string& name : tables) {
    const auto [end, other] = std::ranges::mismatch(shared, name);
    shared.erase(end, shared.end());
  }
  return shared.rfind('/') + 1;  // 0 without a slash
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 3 ? cat(text, " and ", names.size() - 3, " more") : text;
}

}  // namespace

std::string named_split(std::string_view name) {
  const std::string split = table_of(name).split;
  return split == "?" ? "" : split;
}

std::optional<Splits> named_splits(const std::vector<std::string>& names, const Uri& folder) {
  Splits splits;
  std::map<std::string, std::string> first;  // the first table of each place
  std::vector<std::string> unnamed;
  const std::vector<std::string> tables = tables_among(names);
  const size_t shared = shared_directory(tables);
  for (const std::string& name : tables) {
    const auto& [split, place] = table_of(name, shared);
    if (split.empty() || split == "?") {
      if (!accompanies_splits(last_part(name))) unnamed.push_back(name);
      continue;
    }
    splits[split].push_back(folder / name);
    first.emplace(place, name);
  }
  const bool trains = splits.contains("train"), evaluates = splits.size() > (trains ? 1U : 0U);
  // A text may have such a word in its title.
  const bool are_texts = !tables.empty() && is_plain_text(without_compression_suffix(tables[0]));
  if (splits.empty() || (are_texts && !(trains && evaluates))) return std::nullopt;
  if (!unnamed.empty()) {
    std::vector<std::string> named;
    for (const auto& [split, files] : splits) named.push_back(split);
    throw Error(Code::kBadData,
                cat("has tables that are named after splits (", listed(named),
                    ") beside others, so it is not known which of these are for training: ",
                    listed(unnamed)),
                folder.to_string(), "name the files themselves; a pattern names several");
  }
  if (!trains || !evaluates) return std::nullopt;
  if (first.size() > 1) {
    std::vector<std::string> places;
    for (const auto& [place, name] : first) places.push_back(name);
    throw Error(Code::kBadData, cat("holds several data sets: ", listed(places)),
                folder.to_string(), "name the folder of one, or its files by a pattern");
  }
  return splits;
}

}  // namespace berth
