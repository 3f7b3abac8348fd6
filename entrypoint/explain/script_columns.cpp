#include "entrypoint/explain/script_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/shell_text.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

// Columns of a table besides its label, and whether the first row has a number in them.
struct TextColumns {
  Names names{};
  std::vector<bool> are_numbers{};
  bool has_label = false;
};

// The columns of data sets that have one named label, as their cards say.
struct KnownColumns {
  std::string_view names, columns;
};
constexpr KnownColumns kKnownColumns[] = {
    {"imdb stanfordnlp/imdb ag_news fancyzhx/ag_news yelp_polarity fancyzhx/yelp_polarity "
     "yelp_review_full Yelp/yelp_review_full emotion dair-ai/emotion rotten_tomatoes "
     "cornell-movie-review-data/rotten_tomatoes tweet_eval cardiffnlp/tweet_eval banking77 "
     "PolyAI/banking77",
     "text"},
    {"financial_phrasebank takala/financial_phrasebank", "sentence"},
    {"amazon_polarity fancyzhx/amazon_polarity dbpedia_14 fancyzhx/dbpedia_14", "title,content"},
    {"snli stanfordnlp/snli xnli facebook/xnli", "premise,hypothesis"},
};
constexpr KnownColumns kColumnsOfGlue[] = {
    {"mrpc rte stsb wnli", "sentence1,sentence2"},
    {"qnli", "question,sentence"},
    {"qqp", "question1,question2"},
    {"mnli mnli_matched mnli_mismatched ax", "premise,hypothesis"},
};

TextColumns known_columns(const std::string& name, const std::string& config) {
  const bool is_glue = name == "glue" || name == "nyu-mll/glue";
  const auto find = [&](std::span<const KnownColumns> rows, const std::string& key) {
    for (const KnownColumns& row : rows) {
      if (is_one_of(row.names, key)) return parted(row.columns, ",");
    }
    return Names();
  };
  TextColumns found{.names = is_glue ? find(kColumnsOfGlue, config) : find(kKnownColumns, name),
                    .has_label = true};
  found.are_numbers.resize(found.names.size());
  return found;
}

// The fields of the record of a CSV file that begins at `at`, which moves behind it.
Names record_at(std::string_view text, size_t& at) {
  Names fields(1);
  for (bool is_quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !is_quoted) {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

TextColumns columns_of_csv(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  size_t at = text.starts_with(kMark) ? kMark.size() : 0;
  const Names names = record_at(text, at), first = record_at(text, at);
  TextColumns found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "label") {
      found.has_label = true;
      continue;
    }
    // Without a name it is an index that pandas wrote.
    found.names.push_back(names[i].empty() ? cat("Unnamed: ", i) : names[i]);
    found.are_numbers.push_back(i < first.size() && parse_real(first[i]).has_value());
  }
  return found;
}

// Objects one below the other, or a list of them. Their members come in the order in which they
// first occur.
TextColumns columns_of_json(const std::string& text) {
  TextColumns found;
  const auto add = [&](const OrderedJson& row) {
    if (!row.is_object()) return;
    for (const auto& [name, value] : row.items()) {
      found.has_label = found.has_label || name == "label";
      if (name == "label" || is_one_of(found.names, name)) continue;
      found.names.push_back(name);
      found.are_numbers.push_back(value.is_number());
    }
  };
  try {
    if (trimmed(text).starts_with('[')) {
      for (const OrderedJson& row : parse_ordered_json(text)) add(row);
      return found;
    }
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      if (!trimmed(text.substr(begin, end - begin)).empty()) {
        add(parse_ordered_json(text.substr(begin, end - begin)));
      }
    }
  } catch (const Error&) {  // which the job says
    return {};
  }
  return found;
}

TextColumns columns_of_file(const std::string& path, const ReadFile& read_head) {
  std::optional<std::string> text = read_head ? read_head(path) : std::nullopt;
  if (!text) return {};
  if (!text->ends_with('\n') && text->size() < kHeadBytes) *text += '\n';
  return path.ends_with(".csv") ? columns_of_csv(*text) : columns_of_json(*text);
}

}  // namespace

void name_text_columns(const TrainingScript& script, const TypedCommand& typed,
                       const ReadFile& read_head, OwnCommand& own, Remarks& remarks) {
  const bool is_script =
      script.name.starts_with("run_glue") || script.name.starts_with("run_flax_glue");
  const std::string task = own.value("task").value_or("");
  const bool is_task = find_glue_task(task) != nullptr || task.find('$') != task.npos;
  if (!is_script || is_task || own.has("text-column") || own.has("data-dir")) return;
  const std::optional<std::string> name = typed.value("dataset_name");
  std::optional<std::string> file = typed.value("train-data-file");
  if (!file) file = typed.value("eval-data-file");
  if (!name && !file) return;
  const TextColumns found =
      name ? known_columns(*name, typed.value("dataset_config_name").value_or(""))
           : columns_of_file(*file, read_head);
  const std::string flag = typed.typed_name(name                             ? "dataset_name"
                                            : typed.value("train-data-file") ? "train-data-file"
                                                                             : "eval-data-file");
  const bool has_pair = is_one_of(found.names, "sentence1") && is_one_of(found.names, "sentence2");
  const Names taken =
      has_pair ? Names{"sentence1", "sentence2"}
               : Names(found.names.begin(),
                       found.names.begin() +
                           static_cast<ptrdiff_t>(std::min<size_t>(found.names.size(), 2)));
  if (taken.empty()) {
    return remarks.refuse(
        flag,
        cat("has columns that are not known here, and ", script.name,
            " pairs sentence1 and sentence2, else the first two besides label. ",
            name ? "Add" : "Run berth explain where the file is, or add",
            " --text-column NAME to the line, with --text-pair-column NAME for a second text"));
  }
  if (!found.has_label) {
    return remarks.refuse(flag, cat("has no column named label, without which ", script.name,
                                    " ends; name it with --label-column, and the texts with "
                                    "--text-column"));
  }
  for (size_t i = 0; i < found.names.size(); ++i) {
    if (!found.are_numbers[i] || !is_one_of(taken, found.names[i])) continue;
    return remarks.refuse(
        flag, cat("has numbers in its column ", quoted(found.names[i]), ", which ", script.name,
                  " takes as a text; add --text-column NAME to the line, with --text-pair-column "
                  "NAME for a second text"));
  }
  const bool is_usual = taken.size() == 1 ? is_one_of("text sentence", taken[0]) : has_pair;
  if (is_usual) return;
  own.set("text-column", taken[0]);
  if (taken.size() > 1) own.set("text-pair-column", taken[1]);
  remarks.note("--text-column", cat("names what ", script.name,
                                    " takes without a task: sentence1 and sentence2, "
                                    "else the first two columns besides label"));
}

}  // namespace berth
