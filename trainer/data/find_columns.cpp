#include "trainer/data/find_columns.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/choice_rows.h"

namespace berth {
namespace {

// Whether a name rather is a line that was not split.
bool holds_delimiter(std::string_view name) {
  return name.find_first_of(",;|\t~^ \x01") != std::string_view::npos;
}

// Whether a name rather is a value of a row: a number, or a long text.
bool is_value(std::string_view name) {
  constexpr size_t kLongName = 60;
  return name.size() > kLongName || parse_real(name);
}

}  // namespace

std::string list_columns(std::span<const Column> columns) {
  std::string text = joined(columns.first(std::min<size_t>(columns.size(), 20)), ", ",
                            [&](const Column& column) { return quoted(column.name); });
  if (columns.empty()) return "the table has no columns";
  text = "the columns are " + text + (columns.size() > 20 ? ", ..." : "");
  const std::string& first = columns[0].name;
  if (first.starts_with("<!") || first.starts_with("<html")) {
    return text + "; the file is a web page, as where a download asks to sign in: fetch it again";
  }
  if (first.starts_with("{\"")) {
    return text + "; the file is rather JSON: one with an object in each line is called .jsonl";
  }
  if (columns.size() == 1 && first == "text") {
    return text + "; each line of a .txt file is a text, and a table is called .csv or .tsv";
  }
  if (columns.size() == 1 && columns[0].name.starts_with('#')) {
    return text + "; if this is a comment, remove it, so that the first line has the names";
  }
  const auto is_unseen = [](const Column& column) {
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"\u00A0", "\u200B", "\uFEFF"},
        [&](std::string_view mark) { return column.name.find(mark) != std::string::npos; });
  };
  if (std::ranges::any_of(columns, is_unseen)) {
    return text + "; a name has characters that are not seen, such as U+00A0 and U+200B";
  }
  if (columns.size() == 1 && holds_delimiter(columns[0].name)) {
    return text + "; --delimiter names the character between the fields of CSV and TSV files";
  }
  if (std::ranges::any_of(columns, [](const Column& column) { return is_value(column.name); })) {
    text +=
        "; if these are the values of a row, write a line with the names of the columns above "
        "it";
  }
  return text;
}

bool names_rows(std::string_view name) {
  constexpr std::string_view kNames[] = {"",     "id",  "ids",  "idx",  "index",  "qid",
                                         "guid", "uid", "uuid", "row",  "nr",     "no",
                                         "#",    "num", "key",  "line", "number", "pk"};
  const std::string plain = lower_ascii(trimmed(name));
  return std::ranges::find(kNames, plain) != std::end(kNames) || plain.starts_with("unnamed:") ||
         plain.ends_with("_id") || plain.ends_with(" id");
}

namespace {

// Whether a column is called `own` again: in another case, as a plural, or as pandas renames a
// second column ("label.1") and the columns of a merge ("label_x").
bool repeats_name(std::string_view name, std::string_view own) {
  std::string plain = lower_ascii(trimmed(name));
  if (!plain.starts_with(own) || own.empty()) return false;
  const std::string_view rest = std::string_view(plain).substr(own.size());
  if (rest.empty() || rest == "s" || rest == "_x" || rest == "_y") return true;
  return rest.size() > 1 && rest[0] == '.' && rest.find_first_not_of("0123456789", 1) == rest.npos;
}

}  // namespace

std::vector<std::string> other_labels(std::span<const Column> columns, size_t label,
                                      std::span<const size_t> used) {
  constexpr std::string_view kNames =
      "target class category intent sentiment emotion topic polarity subject genre stars rating";
  const auto may_be = [&](size_t column) {
    const std::string name = lower_ascii(trimmed(columns[column].name));
    return is_one_of(kNames, name);
  };
  const std::string own = lower_ascii(trimmed(columns[label].name));
  std::vector<std::string> others;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_other = (may_be(label) && may_be(i)) || repeats_name(columns[i].name, own);
    if (is_other && i != label && std::ranges::find(used, i) == used.end()) {
      others.push_back(quoted(columns[i].name));
    }
  }
  return others;
}

std::optional<size_t> find_weights(std::span<const Column> columns) {
  constexpr std::string_view kNames = "weight weights sample_weight example_weight";
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = lower_ascii(trimmed(columns[i].name));
    if (is_one_of(kNames, name)) return i;
  }
  return std::nullopt;
}

namespace {

using Names = std::span<const std::string_view>;

// The lists of names are in order of preference.
constexpr std::array<std::string_view, 3> kContextNames = {"context", "passage", "paragraph"};
constexpr std::array<std::string_view, 3> kStartNames = {"answer_start", "answer_starts",
                                                         "answers.answer_start"};
constexpr std::array<std::string_view, 4> kIdNames = {"id", "qid", "guid", "_id"};
// Of passages or queries that are embedded one by one; a pair of them has two ids.
constexpr std::array<std::string_view, 9> kTextIdNames = {"corpus_id",   "doc_id",     "docid",
                                                          "document_id", "passage_id", "pid",
                                                          "docno",       "query_id",   "queryid"};
// The second texts of groups, beside kPairNames.
constexpr std::array<std::array<std::string_view, 2>, 12> kGroupNames = {
    {{"anchor", "positive"},
     {"query", "positive"},
     {"anchor", "pos"},
     {"query", "pos"},
     {"anchor", "positives"},
     {"query", "positives"},
     {"query", "answer"},
     {"query", "passage"},
     {"query", "document"},
     {"question", "answer"},
     {"question", "passage"},
     {"sentence_a", "sentence_b"}}};
constexpr std::array<std::array<std::string_view, 2>, 8> kPairNames = {{{"sentence1", "sentence2"},
                                                                        {"text_a", "text_b"},
                                                                        {"text1", "text2"},
                                                                        {"text", "text_pair"},
                                                                        {"premise", "hypothesis"},
                                                                        {"question1", "question2"},
                                                                        {"question", "sentence"},
                                                                        {"sentence", "question"}}};
// The same where no column has a usual name for a single text.
constexpr std::array<std::array<std::string_view, 2>, 10> kRarePairNames = {
    {{"sent1", "sent2"},
     {"sentence_a", "sentence_b"},
     {"query", "passage"},
     {"claim", "evidence"},
     {"prompt", "response"},
     {"question", "answer"},
     {"question", "passage"},
     {"question", "context"},
     {"question", "paragraph"},
     {"context", "hypothesis"}}};

std::optional<size_t> find(std::span<const Column> columns, std::string_view name) {
  if (const auto exact = find_column(columns, name)) return exact;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (lower_ascii(columns[i].name) == lower_ascii(name)) return i;
  }
  return std::nullopt;
}

// The column of a name that the training knew; nullopt where it knew none.
std::optional<size_t> find_trained(std::span<const Column> columns, const std::string& name) {
  return name.empty() ? std::nullopt : find_column(columns, name);
}

std::optional<size_t> find_any(std::span<const Column> columns, Names names) {
  for (const std::string_view name : names) {
    if (const auto found = find(columns, name)) return found;
  }
  return std::nullopt;
}

size_t find_named(std::span<const Column> columns, const std::string& name,
                  const std::string& flag) {
  if (const auto found = find(columns, name)) return *found;
  throw Error(Code::kBadData,
              "there is no column " + quoted(name) + " (" + flag + "); " + list_columns(columns));
}

// The first names of a list, for messages: "text, sentence, content, ...".
std::string first_of(Names names) {
  std::string text;
  for (const std::string_view name : names.first(std::min<size_t>(names.size(), 3))) {
    text.append(name).append(", ");
  }
  return text + "...";
}

// The question of a table like QNLI's, which forms a pair with its sentence and comes first.
std::optional<size_t> find_question(std::span<const Column> columns, const ColumnChoice& choice,
                                    Task task) {
  const bool has_pairs = traits(task).inputs == InputKind::kTexts;
  if (!has_pairs || !choice.text_pair.empty() || !find(columns, "sentence")) return std::nullopt;
  return find(columns, "question");
}

std::string hint_of_embeddings(std::span<const Column> columns) {
  constexpr std::string_view kFirst[] = {"anchor", "query"}, kSecond[] = {"positive", "pos"};
  const bool has_both = find_any(columns, kFirst) && find_any(columns, kSecond);
  return has_both ? "give --task similarity or reranking, which read such columns, or " : "";
}

size_t find_text(std::span<const Column> columns, const ColumnChoice& choice, Task task,
                 std::optional<size_t> label) {
  if (!choice.text.empty()) return find_named(columns, choice.text, "--text-column");
  if (choice.trained) {
    if (const auto same = find_trained(columns, choice.trained->text)) return *same;
  }
  if (const auto question = find_question(columns, choice, task)) return *question;
  if (const auto found = find_any(columns, traits(task).text_columns)) return *found;
  const InputKind inputs = traits(task).inputs;
  for (const auto& [first, second] : kRarePairNames) {
    const auto found = find(columns, first), partner = find(columns, second);
    const bool are_pair = inputs == InputKind::kTexts && found && partner && partner != label;
    if (are_pair) return *found;
  }
  if (columns.size() == 2 && label && inputs != InputKind::kQuestion &&
      !names_rows(columns[1 - *label].name)) {
    return 1 - *label;
  }
  if (columns.size() == 1 && !label) return 0;
  throw Error(
      Code::kBadData,
      cat("no column has a usual name for texts (", first_of(traits(task).text_columns), ")"), "",
      cat(hint_of_embeddings(columns), "name it with --text-column",
          inputs == InputKind::kTexts ? ", and the second text of a pair with --text-pair-column; "
                                      : "; ",
          list_columns(columns)));
}

// The columns whose names `list` holds, separated by commas.
std::vector<size_t> find_several(std::span<const Column> columns, const std::string& list) {
  std::vector<size_t> found;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    found.push_back(find_named(columns, list.substr(begin, end - begin), "--label-column"));
    begin = end + 1;
  }
  return found;
}

// The column of tags that say this of words. Another kind of tags is not taken for them.
std::optional<size_t> find_tags(std::span<const Column> columns, const std::string& tags) {
  for (const std::string& name : {tags + "_tags", tags + "_tag", tags, "u" + tags, "x" + tags}) {
    if (const auto found = find(columns, name)) return found;
  }
  constexpr std::string_view kAnyTags[] = {"tags", "tag", "labels", "label"};
  return find_any(columns, kAnyTags);
}

// What to do with spans that could not be read as such. Empty: no column is called so.
std::string hint_of_spans(std::span<const Column> columns) {
  constexpr std::string_view kNames[] = {"entities", "spans", "ents"};
  const auto column = find_any(columns, kNames);
  if (!column) return "";
  return cat("; spans in ", quoted(columns[*column].name),
             " are read as [[0, 5, \"NAME\"], ...] or as objects with whole numbers start and end "
             "and a label");
}

std::vector<size_t> find_labels(std::span<const Column> columns, const ColumnChoice& choice,
                                LabelNeed need, Task task) {
  if (!choice.label.empty()) {
    if (const auto one = find(columns, choice.label)) return {*one};
    if (need != LabelNeed::kRequired) return {};
    if (traits(task).labels == LabelKind::kSet) return find_several(columns, choice.label);
    return {find_named(columns, choice.label, "--label-column")};
  }
  if (choice.trained) {
    if (const auto same = find_trained(columns, choice.trained->label)) return {*same};
  }
  const bool is_named = traits(task).labels == LabelKind::kTagPerWord && !choice.tags.empty();
  const auto found = is_named ? find_tags(columns, choice.tags) : find_usual_labels(columns, task);
  if (found) return {*found};
  if (need != LabelNeed::kRequired) return {};
  const LabelKind kind = traits(task).labels;
  const bool may_be_marks = kind == LabelKind::kClass || kind == LabelKind::kSet;
  if (is_named) {
    throw Error(
        Code::kBadData,
        cat("no column is called ", choice.tags, "_tags, ", choice.tags, ", tags or labels"), "",
        cat("name it with --label-column", hint_of_spans(columns), "; ", list_columns(columns)));
  }
  throw Error(
      Code::kBadData,
      cat("no column has a usual name for labels (", first_of(traits(task).label_columns), ")"), "",
      cat(hint_of_embeddings(columns), "name it with --label-column",
          columns.size() > 2 && may_be_marks ? ", or several, each with a 0 or 1 for a label" : "",
          hint_of_spans(columns), "; ", list_columns(columns)));
}

// Whether the model knows `text` as its only text.
bool is_trained_on_one(std::span<const Column> columns, const ColumnChoice& choice, size_t text) {
  return choice.trained && choice.trained->text_pair.empty() &&
         (!choice.text.empty() || choice.trained->text == columns[text].name);
}

// Throws kBadData where the model was trained on another number of texts than the table has.
void require_as_many(std::span<const Column> columns, const ColumnChoice& choice, size_t text,
                     std::optional<size_t> pair) {
  const ColumnChoice::Trained& trained = *choice.trained;
  if (!pair && !trained.text_pair.empty()) {
    throw Error(
        Code::kBadData,
        cat("the model was trained on two texts, in the columns ", quoted(trained.text), " and ",
            quoted(trained.text_pair), ", and here only ", quoted(columns[text].name), " is found"),
        "", "name the columns with --text-column and --text-pair-column");
  }
  if (pair && trained.text_pair.empty()) {
    throw Error(Code::kBadData,
                cat("the model was trained on one text, in the column ", quoted(trained.text),
                    ", and here are two, ", quoted(columns[text].name), " and ",
                    quoted(columns[*pair].name)),
                "", "name one with --text-column");
  }
}

std::optional<size_t> find_pair(std::span<const Column> columns, const ColumnChoice& choice,
                                Task task, size_t text, std::span<const size_t> labels) {
  if (!choice.text_pair.empty()) {
    return find_named(columns, choice.text_pair, "--text-pair-column");
  }
  const InputKind inputs = traits(task).inputs;
  if (inputs == InputKind::kWords || inputs == InputKind::kText) return std::nullopt;
  if (inputs == InputKind::kQuestion) {
    if (const auto found = find_any(columns, kContextNames)) return found;
    throw Error(Code::kBadData,
                cat("no column has a usual name for contexts (", first_of(kContextNames), ")"), "",
                "name it with --text-pair-column; " + list_columns(columns));
  }
  const bool is_trained = choice.trained && !choice.trained->text.empty();
  if (is_trained) {
    if (const auto same = find_trained(columns, choice.trained->text_pair)) return same;
  }
  const auto partner = [&](const auto& names) -> std::optional<size_t> {
    for (const auto& [first, second] : names) {
      if (lower_ascii(columns[text].name) != first) continue;
      const auto found = find(columns, second);
      if (found && std::ranges::find(labels, *found) == labels.end()) return found;
    }
    return std::nullopt;
  };
  const bool has_choices = traits(task).labels == LabelKind::kChoice;
  std::optional<size_t> pair;
  if (!is_trained_on_one(columns, choice, text)) {
    pair = has_choices ? find_lead(columns, text) : partner(kPairNames);
    const bool may_be_rare = choice.text.empty() && inputs == InputKind::kTexts;
    if (!pair && may_be_rare) pair = partner(kRarePairNames);
  }
  if (is_trained && (inputs == InputKind::kTexts || has_choices)) {
    require_as_many(columns, choice, text, pair);
  }
  if (pair || has_choices || inputs != InputKind::kTextGroup) return pair;
  if (const auto found = partner(kGroupNames)) return found;
  throw Error(
      Code::kBadData,
      cat("no column has a usual name for the text to compare with ", quoted(columns[text].name)),
      "", "name it with --text-pair-column; " + list_columns(columns));
}

// Whether the name of a column says that it belongs to negatives, such as "neg_2" and
// "hard_negatives".
bool names_negatives(std::string_view name) {
  constexpr std::string_view kWords = "neg negs negative negatives";
  for (std::string part : parted(lower_ascii(name), "_- ")) {
    part.erase(part.find_last_not_of("0123456789") + 1);
    if (part.starts_with("hard")) part.erase(0, 4);
    if (is_one_of(kWords, part)) return true;
  }
  return false;
}

// Whether it says something of negatives and does not hold their texts, such as "neg_scores" beside
// FlagEmbedding's "neg". Titles are texts where a table has no others.
bool is_about_negatives(std::span<const Column> columns, std::string_view name) {
  constexpr std::string_view kWords =
      "id ids idx score scores sim sims similarity similarities count counts num number type types "
      "source sources rank ranks method methods";
  bool is_title = false;
  for (std::string part : parted(lower_ascii(name), "_- ")) {
    part.erase(part.find_last_not_of("0123456789") + 1);
    if (is_one_of(kWords, part)) return true;
    is_title = is_title || part == "title";
  }
  return is_title && std::ranges::any_of(columns, [](const Column& other) {
           return names_negatives(other.name) && !is_about_negatives({}, other.name) &&
                  lower_ascii(other.name).find("title") == std::string::npos;
         });
}

// The columns of negatives: their texts, or what is said about them. In the order of the table, as
// sentence-transformers takes them.
std::vector<size_t> columns_of_negatives(std::span<const Column> columns, bool are_texts) {
  std::vector<size_t> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i].name;
    if (names_negatives(name) && is_about_negatives(columns, name) != are_texts) found.push_back(i);
  }
  return found;
}

std::vector<size_t> find_negatives(std::span<const Column> columns, Task task) {
  if (traits(task).labels != LabelKind::kPlaceInBatch) return {};
  return columns_of_negatives(columns, /*are_texts=*/true);
}

std::optional<size_t> find_id(std::span<const Column> columns, const ColumnChoice& choice,
                              const FoundColumns& found, LabelNeed need, Task task) {
  if (!choice.id.empty() && need == LabelNeed::kIgnored) {
    return find_named(columns, choice.id, "--id-column");
  }
  auto id = choice.id.empty() ? find_any(columns, kIdNames) : find(columns, choice.id);
  if (!id && traits(task).inputs == InputKind::kText) id = find_any(columns, kTextIdNames);
  return id == found.text || id == found.text_pair ? std::nullopt : id;
}

// All but the identifier.
std::vector<size_t> used_columns(const FoundColumns& found) {
  std::vector<size_t> used = found.labels;
  used.push_back(found.text);
  if (found.text_pair) used.push_back(*found.text_pair);
  if (found.weight) used.push_back(*found.weight);
  used.insert(used.end(), found.others.begin(), found.others.end());
  if (found.answer_start) used.push_back(*found.answer_start);
  std::sort(used.begin(), used.end());
  return used;
}

std::optional<Answerable> find_answerable(std::span<const Column> columns) {
  constexpr std::pair<std::string_view, bool> kNames[] = {
      {"is_impossible", true},  {"impossible", true}, {"is_unanswerable", true},
      {"unanswerable", true},   {"no_answer", true},  {"has_answer", false},
      {"is_answerable", false}, {"answerable", false}};
  for (const auto& [name, is_negated] : kNames) {
    if (const auto column = find(columns, name)) return Answerable{*column, is_negated};
  }
  return std::nullopt;
}

std::optional<size_t> find_source(std::span<const Column> columns, const FoundColumns& found) {
  const std::vector<size_t> used = used_columns(found);
  for (const std::string_view name :
       {"source", "data_source", "dataset", "dataset_name", "corpus", "origin", "provenance"}) {
    const auto column = find(columns, name);
    if (column && std::ranges::find(used, *column) == used.end()) return column;
  }
  return std::nullopt;
}

void refuse_unreadable(std::span<const Column> columns, const FoundColumns& found, LabelNeed need) {
  for (const size_t i : used_columns(found)) {
    const bool is_label = std::ranges::find(found.labels, i) != found.labels.end();
    if (columns[i].unreadable.empty() || (is_label && need == LabelNeed::kIgnored)) continue;
    throw Error(Code::kBadData,
                cat("column ", quoted(columns[i].name), " holds ", columns[i].unreadable,
                    ", which berth does not read"),
                "",
                "name another column by --label-column or --text-column, or write the values as "
                "texts, as astype(str) of pandas does");
  }
}

void refuse_twice(std::span<const Column> columns, const FoundColumns& found) {
  const std::vector<size_t> used = used_columns(found);
  for (const size_t i : used) {
    const auto is_alike = [&](const Column& other) { return other.name == columns[i].name; };
    if (std::ranges::count_if(columns, is_alike) == 1) continue;
    throw Error(Code::kBadData, cat("two columns are named ", quoted(columns[i].name)), "",
                "give each column a name of its own");
  }
  const auto twice = std::adjacent_find(used.begin(), used.end());
  if (twice == used.end()) return;
  throw Error(Code::kUsage, "column " + quoted(columns[*twice].name) + " would be used twice", "",
              "name the columns with --text-column, --text-pair-column and --label-column");
}

}  // namespace

FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need, Task task) {
  const bool is_of_argilla = find(columns, "fields") && find(columns, "responses");
  if (is_of_argilla && choice.text.empty() && choice.label.empty()) {
    throw Error(Code::kBadData,
                "are records of Argilla, whose texts and labels are nested in \"fields\" and "
                "\"responses\"",
                "",
                "export a table with a column for each: dataset.records.to_datasets() of Argilla, "
                "then to_parquet()");
  }
  FoundColumns found;
  found.labels = find_labels(columns, choice, need, task);
  found.text = find_text(columns, choice, task,
                         found.labels.empty() ? std::nullopt : std::optional(found.labels[0]));
  found.text_pair = find_pair(columns, choice, task, found.text, found.labels);
  const bool has_choices = traits(task).labels == LabelKind::kChoice;
  found.others = has_choices ? find_choices(columns) : find_negatives(columns, task);
  if (has_choices && found.others.empty()) {
    throw Error(
        Code::kBadData, "no column holds choices by its name", "",
        "call them ending0, ending1 and so on, or write a list into a column \"choices\"; " +
            list_columns(columns));
  }
  if (traits(task).labels == LabelKind::kSpan && !found.labels.empty()) {
    found.answer_start = find_any(columns, kStartNames);
  }
  if (traits(task).labels == LabelKind::kSpan && !found.labels.empty()) {
    found.answerable = find_answerable(columns);
  }
  if (traits(task).labels == LabelKind::kNumber && !found.labels.empty()) {
    found.source = find_source(columns, found);
  }
  if (need == LabelNeed::kIgnored || traits(task).inputs == InputKind::kQuestion) {
    found.id = find_id(columns, choice, found, need, task);
  }
  if (!choice.weight.empty()) {
    found.weight = need == LabelNeed::kRequired && !choice.may_lack_weights
                       ? find_named(columns, choice.weight, "--weight-column")
                       : find(columns, choice.weight);
  }
  refuse_twice(columns, found);
  refuse_unreadable(columns, found, need);
  return found;
}

std::vector<size_t> find_text_scores(std::span<const Column> columns, const std::string& label) {
  if (!label.empty()) return {find_named(columns, label, "--label-column")};
  const auto of_positives = find(columns, "pos_scores"), of_negatives = find(columns, "neg_scores");
  if (of_positives && of_negatives) return {*of_positives, *of_negatives};
  constexpr std::string_view kMoreNames[] = {"scores", "margin", "margins"};
  auto found = find_usual_labels(columns, Task::kRegression);
  if (!found) found = find_any(columns, kMoreNames);
  return found ? std::vector{*found} : std::vector<size_t>();
}

std::vector<size_t> numbers_of_negatives(std::span<const Column> columns) {
  return columns_of_negatives(columns, /*are_texts=*/false);
}

bool is_one_of_pair(std::span<const Column> columns, const FoundColumns& found) {
  constexpr std::string_view kAlone = "text sentence question";
  const std::string name = lower_ascii(columns[found.text].name);
  const auto has_name = [&](const auto& pair) { return name == pair[0] || name == pair[1]; };
  if (is_one_of(kAlone, name) || std::ranges::none_of(kPairNames, has_name)) return false;
  const std::vector<size_t> used = used_columns(found);
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_used = std::ranges::find(used, i) != used.end() || i == found.id;
    if (!is_used && !names_rows(columns[i].name)) return true;
  }
  return false;
}

std::vector<std::string> unread_texts(std::span<const Column> columns, const FoundColumns& found,
                                      bool is_named) {
  // What the label of a text is about, or follows.
  constexpr std::string_view kTargets[] = {"aspect",        "aspect_term",   "aspect_category",
                                           "target_entity", "stance_target", "parent_comment",
                                           "context",       "span1_text",    "span2_text"};
  // The same of a pair.
  constexpr std::string_view kOfPairs[] = {"passage", "paragraph", "article", "document", "word"};
  const std::string own = lower_ascii(columns[found.text].name);
  const std::vector<size_t> used = used_columns(found);
  std::vector<std::string> unread;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string plain = lower_ascii(columns[i].name);
    std::string name = plain;
    std::ranges::replace(name, ' ', '_');  // "Aspect Term"
    const auto names = [&](const auto& pairs) {
      return std::ranges::any_of(
          pairs, [&](const auto& pair) { return name == pair[0] || name == pair[1]; });
    };
    // In annotators' tables, an answer says whether a row counts.
    const bool is_used = std::ranges::find(used, i) != used.end() || i == found.id;
    if (is_used || name == "answer") continue;
    // pandas calls a second column "text" so.
    const bool is_again = plain == cat(own, ".1");
    const bool is_second = is_again || name == "text_2" || name == "sentence_2" ||
                           name == "sentence2" || names(kPairNames) || names(kGroupNames) ||
                           names(kRarePairNames);
    // In SuperGLUE's files, an object "target" says where the label's words stand.
    const bool is_target = std::ranges::find(kTargets, name) != std::end(kTargets) ||
                           (name == "target" && columns[i].is_nested);
    const auto is_partner = [&](const auto& pairs) {
      return std::ranges::any_of(
          pairs, [&](const auto& pair) { return own == pair[0] && name == pair[1]; });
    };
    const bool is_missed =
        is_named          ? is_partner(kRarePairNames)
        : found.text_pair ? is_target || std::ranges::find(kOfPairs, name) != std::end(kOfPairs)
                          : is_second || is_target;
    if (is_missed) unread.push_back(quoted(columns[i].name));
  }
  return unread;
}

std::vector<std::string> unread_contexts(std::span<const Column> columns,
                                         const FoundColumns& found) {
  constexpr std::string_view kMore =
      "sent2 fact1 fact lecture background narrative conversation dialog body evidence knowledge";
  const Names contexts = traits(usual_task(LabelKind::kChoice)).text_columns;
  const std::vector<size_t> used = used_columns(found);
  std::vector<std::string> unread;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = lower_ascii(columns[i].name);
    const bool is_context =
        std::ranges::find(contexts, name) != contexts.end() || is_one_of(kMore, name);
    const bool is_used = std::ranges::find(used, i) != used.end() || i == found.id;
    if (is_context && !is_used) unread.push_back(quoted(columns[i].name));
  }
  return unread;
}

std::vector<std::string> other_seconds(std::span<const Column> columns, const FoundColumns& found) {
  constexpr std::string_view kSeconds =
      "answer answers context document paragraph passage positive response sentence title";
  const std::vector<size_t> used = used_columns(found);
  std::vector<std::string> others;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_used = std::ranges::find(used, i) != used.end() || i == found.id;
    if (!is_used && is_one_of(kSeconds, lower_ascii(columns[i].name))) {
      others.push_back(quoted(columns[i].name));
    }
  }
  return others;
}

std::vector<Finding> look_for_texts(std::span<const Column> columns, const FoundColumns& found,
                                    Task task, const ColumnChoice& choice) {
  std::vector<Finding> warnings;
  const bool is_named = !choice.text.empty();
  const bool has_choices = traits(task).labels == LabelKind::kChoice;
  const std::string text = quoted(columns[found.text].name);
  const std::string both =
      !found.text_pair
          ? cat(text, " is the text")
          : cat(text, " and ", quoted(columns[*found.text_pair].name), " are the texts");
  if (traits(task).inputs == InputKind::kTextGroup && !has_choices && !choice.trained &&
      choice.text_pair.empty() && found.text_pair) {
    for (const std::string& name : other_seconds(columns, found)) {
      warnings.push_back(warning(cat("column ", name, " is not read, as ", both,
                                     "; --text-pair-column names another second text")));
    }
  }
  if (is_named && (found.text_pair || has_choices)) return warnings;
  if (has_choices) {
    for (const std::string& name : unread_contexts(columns, found)) {
      warnings.push_back(warning(cat("column ", name, " is not read, as ", both,
                                     "; write both into one column to learn from both")));
    }
  }
  if (traits(task).inputs == InputKind::kText && !is_named && !found.text_pair &&
      find_column(columns, "title").value_or(found.text) != found.text) {
    warnings.push_back(
        warning("column \"title\" is not read, and a search puts it before the text; write both "
                "into one column to embed passages so"));
  }
  if (traits(task).inputs != InputKind::kTexts) return warnings;
  const std::vector<std::string> unread = unread_texts(columns, found, is_named);
  const bool is_alone = !found.text_pair && !is_named;
  if (is_alone && !choice.trained && unread.empty() && is_one_of_pair(columns, found)) {
    warnings.push_back(warning(cat("column ", text,
                                   " is by its name one of two texts, and the other one is not "
                                   "found by its name; --text-pair-column names it")));
  }
  for (const std::string& name : unread) {
    warnings.push_back(
        warning(cat("column ", name, " is not read, as ", both,
                    found.text_pair ? "; write it into one of the two to learn from it"
                                    : "; --text-pair-column names a second text")));
  }
  return warnings;
}

std::optional<size_t> find_usual_labels(std::span<const Column> columns, Task task) {
  return find_any(columns, traits(task).label_columns);
}

bool names_words_and_tags(std::span<const Column> columns) {
  const std::array<std::string_view, 2> words = {"tokens", "words"};
  const std::array<std::string_view, 4> tags = {"tags", "ner_tags", "ner", "labels"};
  return find_any(columns, words) && find_any(columns, tags);
}

bool names_answers(std::span<const Column> columns) {
  const Names answers = traits(usual_task(LabelKind::kSpan)).label_columns;
  return find(columns, "question") && find_any(columns, kContextNames) &&
         find_any(columns, answers);
}

bool has_plain_answers(std::span<const Column> columns, std::span<const Row> rows) {
  const auto answers = find_any(columns, traits(usual_task(LabelKind::kSpan)).label_columns);
  if (!answers || rows.empty() || find_any(columns, kStartNames)) return false;
  return std::ranges::none_of(rows, [&](const Row& row) {
    const std::string cell = plain_text(row[*answers]).value_or("[]");
    return trimmed(cell).starts_with('[') || trimmed(cell).starts_with('{');
  });
}

std::optional<size_t> find_answer(std::span<const Column> columns, std::span<const Row> rows,
                                  const ColumnChoice& choice) {
  constexpr std::string_view kName = "answer";
  if (choice.text == kName || choice.text_pair == kName || choice.label == kName) return {};
  const auto column = find_column(columns, kName);
  bool has_any = false;
  for (size_t i = 0; column && i < rows.size(); ++i) {
    const std::optional<std::string> answer = plain_text(rows[i][*column]);
    if (!answer) continue;
    if (*answer != "accept" && *answer != "reject" && *answer != "ignore") return std::nullopt;
    has_any = true;
  }
  return has_any ? column : std::nullopt;
}

bool is_refusal(const Cell& cell) {
  const std::optional<std::string> answer = plain_text(cell);
  return answer && *answer != "accept";
}

namespace {

bool is_split_column(std::string_view name) {
  constexpr std::string_view kNames =
      "split subset fold partition is_test is_valid is_train train_test dataset_split kfold "
      "is_training is_validation is_dev in_test_set is_holdout";
  return is_one_of(kNames, lower_ascii(name));
}

bool is_split(std::string_view text) {
  constexpr std::string_view kNames =
      "train training trn test testing tst validation valid val dev eval evaluation holdout "
      "heldout";
  return is_one_of(kNames, lower_ascii(trimmed(text)));
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
    found.push_back(
        warning(cat("column ", quoted(columns[i].name),
                    " is not read, so rows of all splits are alike; write each split into a "
                    "file of its own, such as train.csv and validation.csv")));
  }
  return found;
}

std::vector<Finding> look_for_refusals(std::span<const Column> columns, std::span<const Row> rows,
                                       std::span<const size_t> used) {
  constexpr std::string_view kNames =
      "status state review review_status decision annotation_status qa_status verdict";
  constexpr std::string_view kRefusals =
      "rejected reject discarded ignored skipped invalid deleted removed";
  std::vector<Finding> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool is_named = is_one_of(kNames, lower_ascii(columns[i].name));
    if (!is_named || std::ranges::find(used, i) != used.end()) continue;
    const auto is_refused = [&](const Row& row) {
      const auto* text = std::get_if<std::string>(&row[i]);
      return text != nullptr && is_one_of(kRefusals, lower_ascii(trimmed(*text)));
    };
    const auto refused = std::ranges::count_if(rows, is_refused);
    if (refused == 0) continue;
    found.push_back(
        warning(cat("column ", quoted(columns[i].name), " says of ", refused, " of the first ",
                    counted(rows.size(), "row"),
                    " that they were rejected or the like, and is not read; take such rows "
                    "out")));
  }
  return found;
}

}  // namespace berth
