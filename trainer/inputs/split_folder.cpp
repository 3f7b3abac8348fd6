#include "trainer/inputs/split_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string_view>
#include <utility>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

using Splits = std::map<std::string, std::vector<Uri>>;

std::vector<std::string> tables_among(const std::vector<std::string>& names);

constexpr std::string_view kStateName = "state.json", kDictName = "dataset_dict.json",
                           kReadme = "README.md";

// Whether the rows are for training: of --train-data-file, "train", or of a --train-source,
// "train_2".
bool is_for_training(std::string_view role) {
  return role == "train" || role.starts_with("train_");
}

std::vector<std::string> wanted_splits(const std::string& role) {
  if (is_for_training(role)) return {"train"};
  if (role == "eval_mm") return {"validation_mismatched"};
  if (role == "predict") return {"test", "test_matched", "validation", "validation_matched"};
  return {"validation", "validation_matched", "test", "test_matched"};
}

[[noreturn]] void fail_state(const Uri& file, const char* what) {
  throw Error(Code::kBadData, what, file.to_string(), "save the data set again");
}

Json read_json(Storage& storage, const Uri& file) {
  return parse_json(read_text(storage, file).value_or(""));
}

// The files that the state.json of `folder` lists; empty: it is another program's.
std::vector<Uri> saved_files(Storage& storage, const Uri& folder) {
  const Uri file = folder / kStateName;
  const Json parsed = read_json(storage, file);
  const JsonObject state(parsed);
  std::vector<Uri> files;
  if (state.list("_data_files") == nullptr) return files;
  if (!state.values("_indices_data_files").empty()) {
    fail_state(file, "keeps the order of its rows in a file of indices, which berth does not read");
  }
  for (const Json& entry : state.values("_data_files")) {
    const auto name = JsonObject(entry).text("filename");
    if (!name) fail_state(file, "lists a file without a name");
    const std::string& text = *name;
    if (text.empty() || text.starts_with('.') || text.find('/') != std::string::npos) {
      fail_state(file, "lists a file outside its folder");
    }
    files.push_back(folder / text);
  }
  return files;
}

Splits saved_splits(Storage& storage, const Uri& folder) {
  const Uri file = folder / kDictName;
  const Json parsed = read_json(storage, file);
  const JsonObject object(parsed);
  if (object.list("splits") == nullptr) fail_state(file, "does not list its splits");
  Splits splits;
  for (const Json& name : object.values("splits")) {
    if (!name.is_string()) fail_state(file, "lists a split without a name");
    const auto& text = name.get_ref<const std::string&>();
    if (text.empty() || text.starts_with('.') || text.find('/') != std::string::npos) {
      fail_state(file, "lists a split outside its folder");
    }
    splits[text] = saved_files(storage, folder / text);
    if (splits[text].empty()) fail_state(folder / text, "is a split without rows");
  }
  return splits;
}

// "train" for "train-00000-of-00002.parquet", and "" for a name of another form.
std::string sharded_split(std::string_view file_name) {
  if (!is_table(without_compression_suffix(file_name))) return "";
  const std::string_view stem = file_name.substr(0, file_name.find('.'));
  const size_t of = stem.rfind("-of-");
  if (of == std::string_view::npos || !is_digits(stem.substr(of + 4))) return "";
  const size_t dash = stem.rfind('-', of - 1);
  if (of == 0 || dash == std::string_view::npos) return "";
  if (!is_digits(stem.substr(dash + 1, of - dash - 1))) return "";
  return std::string(stem.substr(0, dash));
}

// The splits of a repository of the hub: the one folder below `folder` that has some.
std::optional<SplitFolder> hub_splits(const std::vector<std::string>& names, const Uri& folder) {
  std::map<std::string, Splits> by_directory;
  for (const std::string& name : names) {
    if (name.starts_with('.') || name.find("/.") != std::string::npos) continue;
    const size_t slash = name.rfind('/') + 1;  // 0 without a slash
    const std::string split = sharded_split(std::string_view(name).substr(slash));
    if (!split.empty()) by_directory[name.substr(0, slash)][split].push_back(folder / name);
  }
  std::erase_if(by_directory, [](const auto& entry) {
    const Splits& splits = entry.second;
    return splits.count("train") + splits.count("validation") + splits.count("test") == 0;
  });
  if (by_directory.empty()) {
    std::optional<Splits> splits = named_splits(names, folder);
    return splits ? std::optional(SplitFolder{std::move(*splits)}) : std::nullopt;
  }
  if (by_directory.size() == 1) return SplitFolder{std::move(by_directory.begin()->second)};
  const auto full_name = [&](const std::string& name) { return (folder / name).to_string(); };
  throw Error(
      Code::kBadData,
      cat("holds several data sets: ", joined(std::views::keys(by_directory), ", ", full_name)),
      folder.to_string(), "name one of them");
}

// Where `name` lies at the top: "", or "x/" where everything lies in the folder x, as in an
// archive.
std::optional<std::string> place_of(std::string_view name, const std::vector<std::string>& names) {
  if (std::binary_search(names.begin(), names.end(), name)) return "";
  if (names.empty() || names.front().find('/') == std::string::npos) return std::nullopt;
  const std::string top = names.front().substr(0, names.front().find('/') + 1);
  const bool is_in_top = names.back().starts_with(top) &&
                         std::binary_search(names.begin(), names.end(), top + std::string(name));
  return is_in_top ? std::optional(top) : std::nullopt;
}

Uri below(const Uri& uri, std::string_view place) {
  return place.empty() ? uri : uri / place.substr(0, place.size() - 1);
}

// What the head of a README.md of `datasets` says of the files, between two lines "---", under
// "configs": the configurations, and the patterns of their files with the splits.
struct DataCard {
  struct Files {
    std::string split, pattern;  // the split is empty where none is named
  };
  std::vector<std::string> configurations{};
  std::vector<Files> files{};
};

// The value behind "KEY:" in a line of YAML, without quotes. nullopt: the line has another key.
std::optional<std::string> yaml_value(std::string_view line, std::string_view key) {
  line = trimmed(line);
  if (line.starts_with("- ")) line = trimmed(line.substr(2));
  if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) return std::nullopt;
  std::string_view value = trimmed(line.substr(key.size() + 1));
  if (value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

DataCard parse_data_card(std::string_view text) {
  DataCard card;
  std::string split;
  bool is_in_head = false, is_in_configs = false, lists_paths = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line) == "---") {
      if (is_in_head) break;
      is_in_head = true;
      continue;
    }
    if (!is_in_head) break;
    const bool is_nested = line.starts_with(' ') || line.starts_with('-');
    if (!is_nested) is_in_configs = yaml_value(line, "configs").has_value();
    if (!is_nested || !is_in_configs) continue;
    if (const auto name = yaml_value(line, "config_name")) {
      card.configurations.push_back(*name);
      split.clear();
      lists_paths = false;
    } else if (const auto value = yaml_value(line, "split")) {
      split = *value;
      lists_paths = false;
    } else if (auto path = yaml_value(line, "path"), data = yaml_value(line, "data_files");
               path || data) {
      const std::string& pattern = path ? *path : *data;
      lists_paths = pattern.empty();
      if (!lists_paths) card.files.push_back({split, pattern});
    } else if (lists_paths && trimmed(line).starts_with("- ") && line.find(':') == line.npos) {
      const std::string item = cat("x:", trimmed(line).substr(2));
      card.files.push_back({split, yaml_value(item, "x").value_or("")});
    } else {
      lists_paths = false;
    }
  }
  return card;
}

// Compares `tables` with what the README.md in `folder` says of them. Throws kBadData if they are
// several data sets, or if one belongs to none. Throws it, too, if a table is another split than
// its name says. `place` is the place of the README.md among `tables`.
void check_data_card(Storage& storage, const Uri& folder, const std::string& place,
                     const std::vector<std::string>& tables) {
  const Uri file = folder / kReadme;
  const DataCard card = parse_data_card(read_text(storage, file).value_or(""));
  if (card.configurations.size() > 1) {
    throw Error(Code::kBadData,
                cat("describes several data sets in one folder (",
                    joined_first(card.configurations, 3), ")"),
                file.to_string(),
                "name the files of one, or its folder; a pattern names several files");
  }
  const auto is_elsewhere = [](const DataCard::Files& files) {
    return files.pattern.find("://") != files.pattern.npos;
  };
  if (card.files.empty() || std::ranges::any_of(card.files, is_elsewhere)) return;
  for (const std::string& table : tables) {
    if (!table.starts_with(place)) continue;
    const std::string name = table.substr(place.size());
    const auto has_table = [&](const DataCard::Files& files) {
      const bool is_here = files.pattern.starts_with("./");
      return Glob(std::string_view(files.pattern).substr(is_here ? 2 : 0)).matches(name);
    };
    const auto said = std::ranges::find_if(card.files, has_table);
    if (said == card.files.end()) {
      throw Error(Code::kBadData,
                  cat("says of which files the data set is made, and ", name, " is none of them"),
                  file.to_string(), "name the files themselves; a pattern names several");
    }
    const std::string meaning = named_split(name);
    const std::string split = said->split.empty() ? "" : named_split(said->split);
    if (split.empty() || split == meaning || (meaning.empty() && split == "train")) continue;
    throw Error(Code::kBadData,
                cat("says that ", name, " is the split ", said->split, ", which its name does not"),
                file.to_string(),
                "name the files of each split with --train-data-file and --eval-data-file");
  }
}

}  // namespace

std::optional<SplitFolder> splits_among(Storage& storage, const Uri& uri,
                                        const std::vector<std::string>& names) {
  if (const auto place = place_of(kDictName, names)) {
    return SplitFolder{saved_splits(storage, below(uri, *place))};
  }
  if (const auto place = place_of(kStateName, names)) {
    const Uri folder = below(uri, *place);
    std::vector<Uri> files = saved_files(storage, folder);
    if (!files.empty()) return SplitFolder{{{"all", std::move(files)}}};
  }
  if (const auto place = place_of(kReadme, names)) {
    check_data_card(storage, below(uri, *place), *place, tables_among(names));
  }
  return hub_splits(names, uri);
}

bool describes_data_set(std::string_view file_name) {
  constexpr std::string_view kNames =
      "dataset_infos.json dataset_info.json dataset_dict.json state.json features.json "
      "metadata.json croissant.json datapackage.json config.json tokenizer.json "
      "tokenizer_config.json";
  const std::string name = lower_ascii(file_name);
  const std::string stem = name.substr(0, name.find('.'));
  return is_one_of(kNames, name) || stem == "readme" || stem == "license" || stem == "licence" ||
         stem == "citation" || stem == "requirements";
}

std::optional<std::string> split_for(const Splits& splits, const std::string& role) {
  for (const std::string& wanted : wanted_splits(role)) {
    if (splits.contains(wanted)) return wanted;
    // People also call it "dev", "val" or "Validation".
    std::vector<std::string> meant;
    for (const auto& [name, files] : splits) {
      if (named_split(name) == wanted) meant.push_back(name);
    }
    if (meant.size() == 1) return meant.front();
    if (meant.size() > 1) return std::nullopt;
  }
  if (splits.size() == 1 && role != "eval_mm") return splits.begin()->first;
  return std::nullopt;
}

namespace {

[[noreturn]] void refuse_role(const Splits& splits, const std::string& role) {
  throw Error(Code::kBadData,
              cat("no split ", wanted_splits(role).front(), "; there is ",
                  joined(std::views::keys(splits), ", ")),
              "", "name one split's files by a pattern");
}

}  // namespace

const std::vector<Uri>& files_for(const Splits& splits, const std::string& role) {
  if (const auto name = split_for(splits, role)) return splits.at(*name);
  refuse_role(splits, role);
}

const std::vector<Uri>& files_for(const SplitFolder& folder, const std::string& role) {
  if (is_for_training(role) && folder.splits.size() == 1) {
    const std::string meaning = named_split(folder.splits.begin()->first);
    if (!meaning.empty() && meaning != "train") refuse_role(folder.splits, role);
  }
  return files_for(folder.splits, role);
}

namespace {

// The words for splits in several languages, without what means "data" or "set".
constexpr std::pair<std::string_view, std::string_view> kSplitWords[] = {
    {"train",
     "train training trn entrenamiento entrainement entraînement apprentissage trainings "
     "addestramento treino treinamento trening treningowy egitim eğitim обучение обучающая 训练 "
     "訓練 学習 학습 훈련"},
    {"validation",
     "validation valid val dev eval evaluation validacion validación validierung validierungs "
     "validazione validacao validação walidacja dogrulama doğrulama валидация 验证 驗證 検証 검증"},
    {"test",
     "test testing tst holdout heldout prueba pruebas teste testowy тест тестовая 测试 測試 "
     "テスト 評価 테스트 평가"}};

// The split that a part of a name says: "Test2", "trainset" and "val" do.
std::string split_of_part(std::string part) {
  part.erase(part.find_last_not_of("0123456789") + 1);
  for (const std::string_view end :
       {"data", "set", "daten", "数据", "データ", "데이터", "集", "セット", "세트"}) {
    if (part.ends_with(end)) part.erase(part.size() - end.size());
  }
  for (const auto& [split, words] : kSplitWords) {
    if (is_one_of(words, part)) return std::string(split);
  }
  return "";
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
  constexpr std::string_view kStems =
      "labels label_map labelmap label2id id2label label_names classes sample_submission "
      "samplesubmission submission vocab mapping";
  const std::string stem = lower_ascii(file_name.substr(0, file_name.find('.')));
  return is_one_of(kStems, stem);
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
                cat("has tables that are named after splits (", joined_first(named, 3),
                    ") beside others, so it is not known which of these are for training: ",
                    joined_first(unnamed, 3)),
                folder.to_string(), "name the files themselves; a pattern names several");
  }
  if (!trains || !evaluates) return std::nullopt;
  if (first.size() > 1) {
    std::vector<std::string> places;
    for (const auto& [place, name] : first) places.push_back(name);
    throw Error(Code::kBadData, cat("holds several data sets: ", joined_first(places, 3)),
                folder.to_string(), "name the folder of one, or its files by a pattern");
  }
  return splits;
}

}  // namespace berth
