#include "trainer/inputs/table_files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/whole_file.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/inputs/split_folder.h"

namespace berth {
namespace {

// What the name of a file says without its suffixes, and without what marks a copy.
struct PlainName {
  std::string words{};
  bool is_copy = false;
};

PlainName plain_name(std::string_view file_name) {
  constexpr std::string_view kMarks =
      "old backup bak copy kopie copie copia alt orig original prev previous tmp temp";
  std::string name = lower_ascii(without_compression_suffix(file_name));
  name.erase(std::min(name.rfind('.'), name.size()));
  PlainName plain;
  bool follows_copy = false;
  for (const std::string& part : parted(name, "_-. ")) {
    const size_t open = part.find('(');
    const bool is_counted =
        open != std::string::npos && part.ends_with(')') &&
        is_digits(std::string_view(part).substr(open + 1, part.size() - open - 2));
    const std::string word = is_counted ? part.substr(0, open) : part;
    const bool joins = word == "of" || word == "von" || word == "de";
    const bool is_mark = is_one_of(kMarks, word);
    const bool is_count = is_digits(word) && follows_copy;
    plain.is_copy = plain.is_copy || is_mark || is_counted;
    if (!word.empty() && !is_mark && !is_count && !(joins && follows_copy)) {
      plain.words += cat(word, " ");
    }
    follows_copy = is_mark || (joins && follows_copy);
  }
  return plain;
}

bool is_text(std::string_view file_name) {
  const std::string_view plain = without_compression_suffix(file_name);
  return is_plain_text(plain) || plain.find('.') == std::string_view::npos || is_digits(plain);
}

}  // namespace

std::string_view path_below(const Uri& file, const Uri& asked) {
  const std::string& path = asked.path();
  const size_t wild = has_wildcards(path) ? path.find_first_of("*?[") : path.size();
  const size_t slash = wild < path.size() ? path.rfind('/', wild) : path.size();
  const std::string_view fixed = std::string_view(path).substr(0, slash == path.npos ? 0 : slash);
  std::string_view below = file.path();
  if (!below.starts_with(fixed)) return {};
  below.remove_prefix(fixed.size());
  while (below.starts_with('/')) below.remove_prefix(1);
  return below;
}

void refuse_class_folders(const std::vector<std::string>& names, const std::string& where) {
  std::set<std::string> folders, parents;
  for (const std::string& name : names) {
    const std::string_view file = last_part(name);
    if (!is_text(file) || file.size() == name.size()) return;
    const std::string folder = name.substr(0, name.size() - file.size() - 1);
    folders.insert(folder);
    parents.insert(folder.substr(0, folder.size() - last_part(folder).size()));
  }
  if (folders.size() < 2 || parents.size() != 1) return;
  std::vector<std::string> classes;
  for (const std::string& folder : folders) classes.emplace_back(last_part(folder));
  if (classes == std::vector<std::string>{"high", "middle"}) {
    throw Error(Code::kBadData, "seems to hold the files of RACE, which are called .txt", where,
                "give --task race, and name the files by a pattern, such as 'RACE/train/*/*.txt'");
  }
  throw Error(
      Code::kBadData,
      cat("has a folder for each class (", quoted_list(classes), "), and in it a file for each ",
          "text, which berth does not read"),
      where,
      "write a table: found = sklearn.datasets.load_files(FOLDER, encoding=\"utf-8\"); "
      "pandas.DataFrame({\"text\": found.data, \"label\": found.target}).to_csv(\"train.csv\", "
      "index=False)");
}

void refuse_layout(const std::vector<std::string>& names, const std::string& where) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const std::string& name : names) {
    const size_t stem = name.size() - 4;
    if (!name.ends_with(".ann") || !has(name.substr(0, stem) + ".txt")) continue;
    throw Error(Code::kBadData,
                cat("holds annotations of brat (", name, " beside its .txt), which berth does not ",
                    "read"),
                where,
                "write JSON lines with the text and its spans, {\"text\": ..., \"entities\": [[0, "
                "5, \"ORG\"]]}, or CoNLL");
  }
  std::vector<std::string> seen;
  std::ranges::copy_if(names, std::back_inserter(seen),
                       [](const std::string& name) { return hidden_by(name) == 0; });
  refuse_class_folders(seen, where);
  const auto text = std::ranges::find_if(seen, [](const std::string& name) {
    return is_plain_text(without_compression_suffix(name));
  });
  if (text == seen.end()) return;
  throw Error(
      Code::kBadData, cat("holds no tables, but plain text, such as ", *text), where,
      "name its files by a pattern in quotes, such as 'FOLDER/*.txt', if each line is a row");
}

void refuse_logged_table(const std::vector<std::string>& names, const std::string& where) {
  const auto format = [](std::string_view name) -> std::string_view {
    const auto has_folder = [&](std::string_view folder) {
      return name.starts_with(folder) || name.find(cat("/", folder)) != name.npos;
    };
    if (has_folder("_delta_log/")) return "Delta Lake";
    if (has_folder(".hoodie/")) return "Apache Hudi";
    return has_folder("metadata/") && name.ends_with(".metadata.json") ? "Apache Iceberg" : "";
  };
  for (const std::string& name : names) {
    if (format(name).empty()) continue;
    throw Error(Code::kBadData,
                cat("is a table of ", format(name), ", whose log says which files count; the ",
                    "others hold rows that were changed or deleted"),
                where,
                "write the table as it is now to Parquet files, as spark.read.format(...).load(...)"
                ".write.parquet(...) does");
  }
}

std::string missing_part(const std::vector<Uri>& files) {
  struct Parts {
    std::string example{};
    std::set<uint64_t> numbers{};
  };
  constexpr std::string_view kDigits = "0123456789", kOf = "-of-";
  std::map<std::pair<std::string, uint64_t>, Parts> tables;
  for (const Uri& file : files) {
    const std::string name = file.path();
    const size_t of = name.rfind(kOf), after = of + kOf.size();
    if (of == name.npos || of == 0) continue;
    const size_t last = name.find_last_not_of(kDigits, of - 1);
    const size_t begin = last == name.npos ? 0 : last + 1;
    const size_t end = std::min(name.find_first_not_of(kDigits, after), name.size());
    const auto number = parse_number(std::string_view(name).substr(begin, of - begin));
    const auto count = parse_number(std::string_view(name).substr(after, end - after));
    if (!number || !count) continue;
    Parts& parts = tables[{name.substr(0, begin), *count}];
    parts.numbers.insert(*number);
    if (parts.example.empty()) parts.example = file.file_name();
  }
  for (const auto& [table, parts] : tables) {
    const size_t count = parts.numbers.size();
    if (count >= table.second) continue;
    return cat(quoted(parts.example), " is one of ", counted(table.second, "part"), ", and only ",
               count, count == 1 ? " is" : " are",
               " there; fetch the others, or name the files "
               "by a pattern if these are all that is meant");
  }
  return "";
}

void refuse_copies(const std::vector<Uri>& files, const Uri& folder) {
  std::map<std::pair<std::string, std::string>, std::pair<Uri, bool>> seen;
  for (const Uri& file : files) {
    const std::string name = file.file_name();
    const auto& [words, is_copy] = plain_name(name);
    const std::string place = file.path().substr(0, file.path().size() - name.size());
    const auto [other, is_new] = seen.emplace(std::pair(place, words), std::pair(file, is_copy));
    if (is_new || is_copy == other->second.second) continue;  // "data (1).csv", "data (2).csv"
    throw Error(Code::kBadData,
                cat("holds ", quoted(other->second.first.file_name()), " and ", quoted(name),
                    ", of which one seems to be a copy of the other, so it is not known which to "
                    "read"),
                folder.to_string(), "name the file itself, or move the copy elsewhere");
  }
}

namespace {

// "a b" of "a%20b". A malformed escape stays as it is, and so does a text whose escapes are not
// UTF-8.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const begin = text.data() + i + 1;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(begin, begin + 2, value, 16).ptr == begin + 2;
    plain += is_escape ? static_cast<char>(value) : text[i];
    i += is_escape ? 2 : 0;
  }
  return find_invalid_utf8(plain) ? std::string(text) : plain;
}

class FolderColumns final : public RowReader {
 public:
  FolderColumns(std::unique_ptr<RowReader> rows, std::vector<std::pair<std::string, Cell>> added)
      : rows_(std::move(rows)), added_(std::move(added)), used_(added_.size()) {
    columns_.assign(rows_->columns().begin(), rows_->columns().end());
    for (const auto& [name, value] : added_) columns_.push_back({name, {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return rows_->position(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::optional<uint64_t> rows_left() const override { return rows_->rows_left(); }

  void select(std::span<const size_t> columns) override {
    const size_t own = rows_->columns().size();
    std::vector<size_t> inner;
    for (const size_t column : columns) {
      if (column < own) {
        inner.push_back(column);
      } else {
        used_[column - own] = true;
      }
    }
    rows_->select(inner);
  }

  bool next(Row& row) override {
    if (!rows_->next(row)) return false;
    for (const auto& [name, value] : added_) row.push_back(value);
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = rows_->findings();
    for (size_t i = 0; i < added_.size(); ++i) {
      if (!used_[i]) continue;
      found.push_back(
          {"columns in names of folders",
           cat("column ", quoted(added_[i].first), " is what the names of the folders say, as in ",
               added_[i].first, "=VALUE")});
    }
    return found;
  }

 private:
  const std::unique_ptr<RowReader> rows_;
  const std::vector<std::pair<std::string, Cell>> added_;
  std::vector<bool> used_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<RowReader> with_folder_columns(std::unique_ptr<RowReader> rows,
                                               std::string_view path) {
  std::vector<std::pair<std::string, Cell>> added;
  for (size_t end; (end = path.find('/')) != path.npos; path.remove_prefix(end + 1)) {
    const std::string_view folder = path.substr(0, end);
    const size_t mark = folder.find('=');
    if (mark == 0 || mark == folder.npos) continue;
    std::string name = unescaped(folder.substr(0, mark));
    if (find_column(rows->columns(), name) || !named_split(folder).empty()) continue;
    const std::string_view value = folder.substr(mark + 1);
    Cell cell;
    if (value != "__HIVE_DEFAULT_PARTITION__") cell = unescaped(value);
    added.emplace_back(std::move(name), std::move(cell));
  }
  if (added.empty()) return rows;
  return std::make_unique<FolderColumns>(std::move(rows), std::move(added));
}

namespace {

// Returns "train" for "ag_news-train.tfrecord-00000-of-00001", and "" for a name of another form.
std::string split_of(const Uri& file) {
  const std::string name(without_compression_suffix(file.file_name()));
  const size_t end = name.find(".tfrecord");
  const size_t dash = end == std::string::npos ? end : name.rfind('-', end);
  return dash == std::string::npos ? "" : name.substr(dash + 1, end - dash - 1);
}

// The names of the features that features.json describes as class labels or sequences of them.
std::vector<std::string> class_labels(const Json& features) {
  std::vector<std::string> names;
  const Json::json_pointer list("/featuresDict/features");
  if (!features.contains(list) || !features.at(list).is_object()) return names;
  for (const auto& [name, feature] : features.at(list).items()) {
    if (to_text(feature).find("\"classLabel\"") != std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace

std::optional<TfdsFolder> find_tfds_folder(Storage& storage, const Uri& file) {
  const Uri folder = folder_of(file);
  const std::optional<std::string> text = read_text(storage, folder / "features.json");
  if (!text) return std::nullopt;
  const Json features = parse_json(*text);
  if (!features.is_object()) {
    throw Error(Code::kBadData, "the file is not a JSON object",
                (folder / "features.json").to_string());
  }
  TfdsFolder found;
  for (const std::string& name : class_labels(features)) {
    if (const auto labels = read_text(storage, folder / (name + ".labels.txt"))) {
      found.class_names[name] = parted(*labels, "\r\n");
    }
  }
  return found;
}

std::vector<Uri> split_files(const std::vector<Uri>& files, const std::string& role) {
  std::map<std::string, std::vector<Uri>> splits;
  for (const Uri& file : files) {
    if (names_records(without_compression_suffix(file.file_name()))) {
      splits[split_of(file)].push_back(file);
    }
  }
  return files_for(splits, role);
}

}  // namespace berth
