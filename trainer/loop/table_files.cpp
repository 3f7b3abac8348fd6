#include "trainer/loop/table_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/glob.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/loop/split_folder.h"

namespace berth {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What the name of a file says without its suffixes, and without what marks a copy.
struct PlainName {
  std::string words{};
  bool is_copy = false;
};

PlainName plain_name(std::string_view file_name) {
  constexpr std::string_view kMarks[] = {"old",   "backup",   "bak", "copy", "kopie",
                                         "copie", "copia",    "alt", "orig", "original",
                                         "prev",  "previous", "tmp", "temp"};
  std::string name = lower_ascii(without_compression_suffix(file_name));
  name.erase(std::min(name.rfind('.'), name.size()));
  PlainName plain;
  bool follows_copy = false;
  for (const std::string& part : parted(name, "_-. ")) {
    const size_t open = part.find('(');
    const bool is_counted =
        open != std::string::npos && part.ends_with(')') &&
        is_number(std::string_view(part).substr(open + 1, part.size() - open - 2));
    const std::string word = is_counted ? part.substr(0, open) : part;
    const bool joins = word == "of" || word == "von" || word == "de";
    const bool is_mark = std::ranges::find(kMarks, word) != std::end(kMarks);
    const bool is_count = is_number(word) && follows_copy;
    plain.is_copy = plain.is_copy || is_mark || is_counted;
    if (!word.empty() && !is_mark && !is_count && !(joins && follows_copy)) {
      plain.words += cat(word, " ");
    }
    follows_copy = is_mark || (joins && follows_copy);
  }
  return plain;
}

std::vector<std::string> names_below(Storage& storage, const Uri& folder) {
  const size_t prefix = (folder / "x").to_string().size() - 1;
  std::vector<std::string> names;
  for (const Stat& stat : storage.list(folder)) names.push_back(stat.name.substr(prefix));
  return names;
}

// Says what a folder without tables holds. Returns if that is unknown.
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
}

bool is_text(std::string_view file_name) {
  const std::string_view plain = without_compression_suffix(file_name);
  return is_plain_text(plain) || plain.find('.') == std::string_view::npos || is_number(plain);
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
  throw Error(
      Code::kBadData,
      cat("has a folder for each class (", quoted_list(classes), "), and in it a file for each ",
          "text, which berth does not read"),
      where,
      "write a table: found = sklearn.datasets.load_files(FOLDER, encoding=\"utf-8\"); "
      "pandas.DataFrame({\"text\": found.data, \"label\": found.target}).to_csv(\"train.csv\", "
      "index=False)");
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

std::vector<Uri> table_files(Storage& storage, const std::string& path, const std::string& role) {
  const Uri uri = Uri::parse(path);
  std::vector<Uri> files;
  try {
    if (const auto folder = find_split_folder(storage, uri)) files = files_for(*folder, role);
  } catch (const Error& error) {
    throw error.where().empty() ? error.at(uri.to_string()) : error;
  }
  if (files.empty()) {
    try {
      files = expand(storage, uri, [](std::string_view name) {
        const std::string_view plain = without_compression_suffix(name);
        if (describes_data_set(plain)) return false;
        // A .txt in a folder of tables is a README or a licence.
        return (is_table(plain) && !is_plain_text(plain)) || names_records(plain) ||
               names_token_shard(plain);
      });
    } catch (const Error& error) {
      const bool is_folder = error.code() == Code::kBadData && !is_archive(uri.file_name());
      if (is_folder) refuse_layout(names_below(storage, uri), uri.to_string());
      throw;
    }
  }
  if (files.size() > 1 && !has_wildcards(uri.path())) refuse_copies(files, uri);
  return files;
}

}  // namespace berth
