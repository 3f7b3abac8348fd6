#include "trainer/data/table_loader.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/choice_rows.h"
#include "trainer/data/deduce_task.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/odd_rows.h"
#include "trainer/data/span_rows.h"
#include "trainer/data/text_list.h"
#include "trainer/data/word_rows.h"

namespace berth {
namespace {

constexpr size_t kFewRows = 10;

uint32_t checksum(const Example& example) {
  uint32_t sum = 0;
  for (const std::string& text : example.texts) {
    const auto size = static_cast<uint64_t>(text.size());
    sum = crc32c(as_bytes(text), sum);
    sum = crc32c(std::as_bytes(std::span(&size, 1)), sum);
  }
  sum = crc32c(std::as_bytes(std::span(example.token_ids)), sum);
  sum = crc32c(std::as_bytes(std::span(example.masked)), sum);
  sum = crc32c(std::as_bytes(std::span(example.labels)), sum);
  for (const Answer& answer : example.answers) sum = crc32c(as_bytes(answer.text), sum);
  return crc32c(std::as_bytes(std::span(&example.score, 1)), sum);
}

}  // namespace

void FileRows::begin_file(size_t labels) {
  labels_before_ = labels;
  lowest_label_ = INT64_MAX;
  for (const uint32_t place : own_) before_[place] = true;
  own_.clear();
  scale_ = {};
  rows_ = repeated_ = 0;
}

void FileRows::add(const Example& example, bool has_score) {
  if (has_score) scale_.add(example.score);
  for (const int32_t label : example.labels) {
    lowest_label_ = std::min<int64_t>(lowest_label_, label);
  }
  if (before_.empty()) return;
  const uint32_t place = checksum(example) >> (32 - kBitsOfPlace);
  ++rows_;
  repeated_ += before_[place];
  own_.push_back(place);
}

namespace {

constexpr size_t kFirstIds = 1000;

}  // namespace

void EqualIds::add(std::string_view id) {
  missing_ += id.empty();
  if (id.empty()) return;
  hashes_.push_back(std::hash<std::string_view>()(id));
  if (first_.size() < kFirstIds) first_.emplace_back(id);
}

std::vector<Finding> EqualIds::findings() {
  std::ranges::sort(hashes_);
  const size_t rows = hashes_.size();
  std::string example;
  for (const std::string& id : first_) {
    const size_t hash = std::hash<std::string_view>()(id);
    const auto [begin, end] = std::equal_range(hashes_.begin(), hashes_.end(), hash);
    if (end - begin < 2) continue;
    example = cat(", such as ", quoted(id));
    break;
  }
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  const size_t equal = rows - hashes_.size();
  std::vector<Finding> found;
  if (missing_ > 0 && rows > 0) {
    found.push_back(warning(cat(counted(missing_, "row"), missing_ == 1 ? " has" : " have",
                                " no id, and the number of the row, from 0, stands in its place")));
  }
  if (equal == 0) return found;
  found.push_back(warning(cat(
      counted(equal, "row"), equal == 1 ? " has" : " have", " the id of an earlier row", example,
      ", so the id does not tell which row a result belongs to; results have the order "
      "of the rows, and --id-column names another column")));
  return found;
}

namespace {

// The columns that the examples are made of.
std::vector<size_t> indices(const FoundColumns& found) {
  std::vector<size_t> columns = found.labels;
  columns.push_back(found.text);
  for (const auto& column :
       {found.text_pair, found.id, found.weight, found.answer_start, found.answer, found.source}) {
    if (column) columns.push_back(*column);
  }
  if (found.answerable) columns.push_back(found.answerable->column);
  columns.insert(columns.end(), found.others.begin(), found.others.end());
  columns.insert(columns.end(), found.text_scores.begin(), found.text_scores.end());
  return columns;
}

// The names of the columns that were found. The files that follow must have the same columns.
ColumnChoice chosen(std::span<const Column> columns, const FoundColumns& found) {
  ColumnChoice choice{.text = columns[found.text].name};
  if (found.text_pair) choice.text_pair = columns[*found.text_pair].name;
  for (const size_t negative : found.others) choice.others.push_back(columns[negative].name);
  if (found.weight) choice.weight = columns[*found.weight].name;
  if (found.id) choice.id = columns[*found.id].name;
  choice.label = joined(found.labels, ",", [&](size_t label) { return columns[label].name; });
  return choice;
}

}  // namespace

// Whether the task has a variant for rows without labels, and the table has no column of labels.
bool TableLoader::becomes_unlabelled(std::span<const Column> columns) const {
  const bool may = traits(*rules_.task).unlabelled && rules_.may_lack_labels;
  if (!may || rules_.need != LabelNeed::kRequired) return false;
  const ColumnChoice& choice = rules_.columns;
  if (!choice.label.empty()) return false;
  const std::vector<size_t> labels =
      find_columns(columns, choice, LabelNeed::kIfPresent, *rules_.task).labels;
  return labels.empty() || columns[labels[0]].name == choice.unread_label;
}

// Whether rows have negatives, which count for more than labels.
bool TableLoader::becomes_groups(std::span<const Column> columns) const {
  const std::optional<Task> unlabelled = traits(*rules_.task).unlabelled;
  if (!rules_.prefers_groups || !unlabelled) return false;
  return !find_columns(columns, rules_.columns, LabelNeed::kIgnored, *unlabelled).others.empty();
}

// Throws kBadData where rows have negatives, and labels by the name of a column alone.
void TableLoader::require_one_kind(std::span<const Column> columns) const {
  const std::optional<Task> unlabelled = traits(*rules_.task).unlabelled;
  if (!rules_.refuses_both_kinds || !unlabelled || !rules_.columns.label.empty()) return;
  const FoundColumns pairs =
      find_columns(columns, rules_.columns, LabelNeed::kIfPresent, *rules_.task);
  const FoundColumns groups =
      find_columns(columns, rules_.columns, LabelNeed::kIgnored, *unlabelled);
  if (pairs.labels.empty() || groups.others.empty()) return;
  const std::string& label = columns[pairs.labels[0]].name;
  const bool ranks = ranks_passages(*rules_.task);
  const char* const flag = ranks ? "--reranking-loss" : "--similarity-loss";
  throw Error(
      Code::kBadData,
      cat("the rows have negatives (", quoted(columns[groups.others[0]].name), "), and column ",
          quoted(label), " may hold a teacher's scores or the labels of pairs"),
      "",
      cat("give ", flag, " margin_mse for a teacher's scores, ", flag,
          ranks ? " softmax" : " in_batch_negatives",
          " for the texts alone, or "
          "--label-column ",
          label, " for pairs with labels and without negatives"));
}

// Throws kBadData where the words are tags and the tags are words.
void TableLoader::require_words(const PeekedRows& rows, const FoundColumns& found) const {
  if (traits(*rules_.task).inputs != InputKind::kWords || found.labels.size() != 1) return;
  constexpr size_t kFewWords = 20;
  struct Seen {
    size_t words = 0, tags = 0, entities = 0;
  };
  const auto look = [&](size_t column) {
    Seen seen;
    for (const Row& row : rows.peeked()) {
      const std::string cell = plain_text(row[column]).value_or("");
      for (const std::string& word : parse_text_list(cell).value_or(parted(cell, " \t"))) {
        ++seen.words;
        seen.entities += is_entity_tag(word);
        seen.tags += word == "O" || is_entity_tag(word);
      }
    }
    return seen;
  };
  const Seen words = look(found.text), tags = look(found.labels[0]);
  const bool is_swapped = words.words >= kFewWords && words.tags == words.words &&
                          words.entities > 0 && tags.tags * 2 < tags.words;
  if (!is_swapped) return;
  const std::string& text = rows.columns()[found.text].name;
  const std::string& label = rows.columns()[found.labels[0]].name;
  throw Error(Code::kBadData,
              cat("column ", quoted(text), " holds tags, and column ", quoted(label), " the words"),
              "", cat("give --text-column ", label, " --label-column ", text));
}

// Says which columns are read where a model was trained on others.
void TableLoader::say_other_columns(const ColumnChoice& read) {
  if (!rules_.columns.trained) return;
  const ColumnChoice::Trained& trained = *rules_.columns.trained;
  const bool has_labels = rules_.need != LabelNeed::kIgnored;
  for (const auto& [what, name, before] :
       {std::tuple("the text", &read.text, &trained.text),
        std::tuple("the second text", &read.text_pair, &trained.text_pair),
        std::tuple("the label", &read.label, &trained.label)}) {
    if (name->empty() || before->empty() || *name == *before) continue;
    if (name == &read.label && !has_labels) continue;
    add_findings({{"", cat("column ", quoted(*name), " is read as ", what,
                           "; the model was trained on ", quoted(*before))}});
  }
}

// Warns where scores may stand in a column whose name does not say it.
void TableLoader::warn_of_no_scores(const PeekedRows& rows) {
  const FoundColumns found =
      find_columns(rows.columns(), rules_.columns, LabelNeed::kIgnored, *rules_.task);
  add_findings(
      look_for_scores({rows.columns(), rows.peeked(), rows.is_of_texts()}, indices(found)));
}

// Warns if the first line looks like a text and not like the name of a column. A file with one text
// in each line often has no line of names.
void TableLoader::warn_of_header(const Column& column) {
  if (parted(column.name, " \t").size() < 3 && !parse_real(column.name)) return;
  add_findings(
      {warning(cat("the first line, ", quoted(column.name),
                   ", is read as the name of the column; if it is a row, write a line such as "
                   "\"text\" above it"))});
}

// Warns of columns whose names say that they should have been read.
void TableLoader::warn_of_unread(std::span<const Column> columns, const FoundColumns& found) {
  if (rules_.need == LabelNeed::kIgnored && traits(*rules_.task).has_label_column) return;
  add_findings(look_for_texts(columns, found, *rules_.task, rules_.columns));
  const std::vector<size_t> choices =
      traits(*rules_.task).inputs == InputKind::kTexts ? find_choices(columns) : found.others;
  if (choices.size() > 1 && found.others.empty()) {
    add_findings(
        {warning(cat("column ", quoted(columns[choices.front()].name), " and ",
                     counted(choices.size() - 1, "column"),
                     " beside it may hold choices and are not read; --task multiple_choice "
                     "learns which one is right"))});
  }
  if (!found.others.empty()) {
    const std::vector<size_t> scores = text_scores_in(columns);
    for (const size_t column : numbers_of_negatives(columns)) {
      if (std::ranges::find(scores, column) != scores.end()) continue;
      add_findings({{"", cat("column ", quoted(columns[column].name),
                             " is not read: its name says that it holds no texts")}});
    }
  }
  const std::optional<size_t> prompt = find_column(columns, "prompt");
  const std::vector<size_t> used = indices(found);
  const bool has_prompt = prompt && std::ranges::find(used, *prompt) == used.end();
  if (has_prompt && makes_embeddings(*rules_.task)) {
    add_findings(
        {warning("column \"prompt\" is not read; FlagEmbedding puts such a prompt before each "
                 "query, and --query-prompt does so for all rows")});
  }
  add_findings(look_for_splits(columns, {}, used));
  const bool compares =
      *rules_.task == Task::kSimilarity && found.labels.size() == 1 &&
      lower_ascii(columns[found.labels[0]].name).find("distance") != std::string::npos;
  if (compares) {
    add_findings(
        {warning(cat("column ", quoted(columns[found.labels[0]].name),
                     " holds the labels, and its name says that equal texts have the smallest "
                     "number; --task similarity learns the opposite"))});
  }
  const bool chooses = rules_.columns.label.empty() && !rules_.columns.trained;
  if (chooses && found.labels.size() == 1 && rules_.need != LabelNeed::kIgnored) {
    warn_of_unread_labels(columns, found);
  }
}

// Warns of columns that may be meant as labels, as tags or as what the labels belong to.
void TableLoader::warn_of_unread_labels(std::span<const Column> columns,
                                        const FoundColumns& found) {
  const std::vector<size_t> used = indices(found);
  const std::string& label = columns[found.labels[0]].name;
  std::vector<std::string> others = other_labels(columns, found.labels[0], used);
  const bool has_tags = traits(*rules_.task).labels == LabelKind::kTagPerWord;
  for (const std::string_view name : {"ner_tags", "tags", "ner"}) {
    const auto column = find_column(columns, name);
    const bool may_be = has_tags && rules_.columns.tags.empty() && column;
    if (may_be && *column != found.labels[0]) others.push_back(quoted(name));
  }
  for (const std::string& name : others) {
    add_findings({warning(cat("column ", name, " may hold the ", has_tags ? "tags" : "labels",
                              ", too, and is not read, as ", quoted(label),
                              " has them; --label-column names the one that is meant"))});
  }
  if (const auto weights = find_weights(columns); weights && !found.weight) {
    add_findings({warning(cat("column ", quoted(columns[*weights].name),
                              " is not read, so all rows count alike; --weight-column reads it"))});
  }
}

std::vector<size_t> TableLoader::text_scores_in(std::span<const Column> columns) const {
  const bool are_compared = traits(*rules_.task).labels == LabelKind::kPlaceInBatch;
  if (rules_.text_scores == LabelNeed::kIgnored || !are_compared) return {};
  std::vector<size_t> found = find_text_scores(columns, rules_.columns.label);
  if (!found.empty() || rules_.text_scores == LabelNeed::kIfPresent) return found;
  throw Error(Code::kBadData,
              "no column has a usual name for a teacher's scores (score, label, ...)", "",
              cat("name it with --label-column",
                  makes_embeddings(*rules_.task) ? ", or give a teacher by --teacher; " : "; ",
                  list_columns(columns)));
}

void TableLoader::say_text_scores(std::span<const Column> columns) {
  std::vector<std::string> names;
  for (const size_t column : text_scores_in(columns)) names.push_back(columns[column].name);
  if (names.empty()) return;
  add_findings({{"", cat("a teacher's scores: column ", quoted_list(names))}});
}

// Finds the columns of the first file, says what stands out, and remembers their names.
FoundColumns TableLoader::find_in_first(std::span<const Column> columns, Task task) {
  const bool ignores_labels = rules_.need == LabelNeed::kIgnored;
  const FoundColumns found = find_columns(columns, rules_.columns, rules_.need, task);
  if (!found.weight && !ignores_labels && rules_.columns.may_lack_weights) {
    lacked_weights_ = rules_.columns.weight;
  }
  if (!lacked_weights_.empty()) {
    add_findings({warning(cat("there is no column ", quoted(lacked_weights_),
                              " (--weight-column), so all rows count alike"))});
  }
  ColumnChoice choice = chosen(columns, found);
  choice.cuts_words = rules_.columns.cuts_words;
  say_text_scores(columns);
  if (const auto scores = text_scores_in(columns); !scores.empty()) {
    choice.label = scores.size() == 1 ? columns[scores[0]].name : std::string();
  }
  if (traits(task).inputs == InputKind::kDocument && found.text_pair) {
    add_findings({{kPairRule, "both texts of a row are one document"}});
  }
  say_other_columns(choice);
  warn_of_unread(columns, found);
  // Another file may have the label column. It must not be taken as a text there.
  if (ignores_labels && choice.label.empty()) choice.label = rules_.columns.label;
  rules_.columns = std::move(choice);
  return found;
}

FoundColumns TableLoader::find(const PeekedRows& rows) {
  const std::span<const Column> columns = rows.columns();
  if (!has_file_ && rules_.need == LabelNeed::kIgnored) {
    require_one_passage(columns, rules_.columns, *rules_.task);
  }
  if (!has_file_ && becomes_groups(columns)) rules_.task = *traits(*rules_.task).unlabelled;
  if (!has_file_) require_one_kind(columns);
  if (!has_file_ && becomes_unlabelled(columns)) {
    rules_.task = *traits(*rules_.task).unlabelled;
    if (!rules_.prefers_groups) warn_of_no_scores(rows);
  }
  const Task task = *rules_.task;
  if (!traits(task).has_label_column) rules_.need = LabelNeed::kIgnored;
  const bool ignores_labels = rules_.need == LabelNeed::kIgnored;
  if (!has_file_) return find_in_first(columns, task);
  const ColumnChoice& first = rules_.columns;
  std::vector<const std::string*> names = {&first.text, &first.text_pair, &first.label};
  for (const std::string& negative : first.others) names.push_back(&negative);
  for (const std::string* name : names) {
    const bool is_set = traits(task).labels == LabelKind::kSet;
    const bool may_lack = name == &first.label && (ignores_labels || is_set);
    if (name->empty() || may_lack || find_column(columns, *name)) continue;
    throw Error(Code::kBadData,
                "there is no column " + quoted(*name) + ", which the first file has", "",
                "all files of a table need the same columns");
  }
  const FoundColumns found = find_columns(columns, first, rules_.need, task);
  const auto refuse_more = [&](std::optional<size_t> column, const std::string& name) {
    if (!column || !name.empty()) return;
    throw Error(
        Code::kBadData,
        "there is a column " + quoted(columns[*column].name) + ", which the first file lacks", "",
        "all files of a table need the same columns");
  };
  refuse_more(found.text_pair, first.text_pair);
  if (!lacked_weights_.empty()) refuse_more(find_column(columns, lacked_weights_), first.weight);
  for (const size_t negative : found.others) {
    const bool is_known =
        std::ranges::find(first.others, columns[negative].name) != first.others.end();
    if (!is_known) refuse_more(negative, "");
  }
  if (!found.labels.empty() && !ignores_labels) refuse_more(found.labels[0], first.label);
  return found;
}

void TableLoader::require_labels(const ExampleReader& reader) {
  const bool labelled = reader.labelled();
  if (has_file_ && labelled != table_->labelled) {
    throw Error(Code::kBadData, labelled ? "has labels, which the first file lacks"
                                         : "has no labels, which the first file has");
  }
  if (!labelled && rules_.need == LabelNeed::kRequired) {
    throw Error(Code::kBadData, "has no labels", "", "only --mode predict works without labels");
  }
  table_->labelled = labelled;
  has_file_ = true;
}

// Compares each row with the row before it, also across files.
void TableLoader::require_as_many_texts(const Example& example) {
  const Task task = *rules_.task;
  if (traits(task).inputs != InputKind::kTextGroup || !example.token_ids.empty()) return;
  const size_t texts = std::exchange(texts_, example.texts.size());
  if (texts == 0 || texts == texts_) return;
  if (traits(task).labels == LabelKind::kChoice) {
    throw Error(Code::kBadData,
                cat("a row has ", texts_ - 1, " choices, and the rows before have ", texts - 1), "",
                "give all rows the same number of choices");
  }
  throw Error(Code::kBadData,
              cat("a row has ", texts_ - 2, " negatives, and the rows before have ", texts - 2), "",
              "give all rows the same number of negatives; --max-negatives N reads the first N of "
              "each row");
}

// A job masks all rows of a table or no row, so they must be alike.
void TableLoader::require_masked_alike(const Example& example) {
  const bool is_masked = !example.masked.empty();
  if (are_masked_.value_or(is_masked) != is_masked) {
    throw Error(Code::kBadData,
                is_masked ? "has tokens that are masked already, and the first file's are not"
                          : "has tokens that are not masked, and the first file's are",
                "", "give one kind at a time");
  }
  are_masked_ = is_masked;
}

void TableLoader::append(ExampleReader& reader) {
  require_labels(reader);
  std::string failed_at;
  for (Example example;;) {
    try {
      const size_t labels = table_->labels.size();
      const bool is_row = reader.next(example, table_->labels);
      for (size_t i = 0; i < reader.left_out(); ++i) table_->leave_out();
      if (!is_row) return add_findings(reader.findings());
      if (table_->labels.size() > labels) table_->labels.locate(reader.position());
    } catch (const Error& error) {
      const std::string position = reader.position();
      const bool stands_still = skipped_ > 0 && position == failed_at;
      if (error.code() != Code::kBadData || skipped_ == rules_.skip_bad_rows || stands_still) {
        throw;
      }
      for (size_t i = 0; i < reader.left_out(); ++i) table_->leave_out();
      if (skipped_++ == 0) first_skipped_ = error.what();
      failed_at = position;
      table_->labels.locate(position);
      table_->leave_out();
      continue;
    }
    require_as_many_texts(example);
    require_masked_alike(example);
    table_->append(example);
    if (reader.is_repeated()) table_->repeat_source_row();
    // Rows of a ranking share the id of their query.
    const bool is_of_queries = lower_ascii(rules_.columns.id) == "qid";
    if (rules_.need == LabelNeed::kIgnored && !reader.is_repeated() && !is_of_queries) {
      ids_.add(example.id);
    }
    file_rows_.add(example, table_->labelled && traits(*rules_.task).labels == LabelKind::kNumber);
    has_several_texts_ =
        has_several_texts_ || example.texts.size() > 1 || !example.token_ids.empty();
    const bool is_question = traits(*rules_.task).labels == LabelKind::kSpan;
    table_->unanswerable += is_question && table_->labelled && example.answers.empty();
    if (rules_.keeps_keys) {
      table_->add_key(example, split_key(example, *rules_.task), *rules_.task);
    }
  }
}

void TableLoader::add_findings(const std::vector<Finding>& findings) {
  for (const Finding& found : findings) {
    const bool is_new = std::ranges::find(findings_, found.text, &Finding::text) == findings_.end();
    if (is_new) findings_.push_back(found);
  }
}

// If each row has one word, returns the sentences of these words. If tags belong to spans, returns
// tags of words.
std::unique_ptr<PeekedRows> TableLoader::joined(std::unique_ptr<PeekedRows> rows) {
  const std::span<const Column> columns = rows->columns();
  const auto layout = find_word_rows({columns, rows->peeked(), rows->is_of_texts()}, rules_.columns,
                                     rules_.sentence_column, rules_.task);
  const auto spans =
      layout ? std::nullopt : find_span_rows(columns, rows->peeked(), rules_.columns, rules_.task);
  if (spans) {
    rules_.task = rules_.task.value_or(usual_task(LabelKind::kTagPerWord));
    rules_.columns.text = columns[spans->text].name;
    rules_.columns.label = columns[spans->spans].name;
    has_spans_ = true;
    rules_.columns.cuts_words = !spans->counts_words;
    const bool ignores_spans = rules_.need == LabelNeed::kIgnored;
    return std::make_unique<PeekedRows>(tag_words(std::move(rows), *spans, ignores_spans));
  }
  if (!layout) {
    if (rules_.need != LabelNeed::kIgnored) {
      require_sentences(columns, rows->peeked(), rules_.columns, rules_.sentence_column,
                        rules_.task);
    }
    return rows;
  }
  rules_.task = rules_.task.value_or(usual_task(LabelKind::kTagPerWord));
  rules_.sentence_column = columns[layout->sentence].name;
  rules_.columns.text = columns[layout->word].name;
  // A column "id" has the ids of words.
  if (rules_.columns.id.empty()) rules_.columns.id = columns[layout->sentence].name;
  return std::make_unique<PeekedRows>(join_words(std::move(rows), *layout));
}

// Whether the column of labels has no label, as in the test set of a competition: its first cells
// are missing. For a model with named classes, they may also be the -1 of `datasets`.
bool TableLoader::lacks_labels(const PeekedRows& rows, const FoundColumns& found) const {
  if (rules_.need != LabelNeed::kIfPresent || found.labels.size() != 1) return false;
  const bool is_known = std::ranges::find(rules_.known_labels, "-1") != rules_.known_labels.end();
  const bool has_names = !rules_.known_labels.empty() && !is_known;
  const bool are_texts = rows.is_of_texts();
  return !rows.peeked().empty() && std::ranges::all_of(rows.peeked(), [&](const Row& row) {
    const Cell& cell = row[found.labels[0]];
    return is_missing(cell, are_texts) || (has_names && plain_text(cell) == "-1");
  });
}

// Where the file declares its classes, they outrank usual labels that are other ones.
void TableLoader::take_classes(const Column& labels) {
  if (!labels.declares_classes) return;
  declared_classes_ = labels.categories;
  if (!rules_.known_are_usual) return;
  const auto is_known = [&](const std::string& name) {
    return std::ranges::find(rules_.known_labels, name) != rules_.known_labels.end();
  };
  if (std::ranges::all_of(labels.categories, is_known)) return;
  rules_.known_labels.clear();
  table_->labels.accept_all();
}

void TableLoader::find_form(const PeekedRows& rows, const FoundColumns& found, bool is_given) {
  std::vector<Finding> findings;
  const bool are_texts = rows.is_of_texts();
  if (found.labels.size() > 1) {
    for (const size_t column : found.labels) marked_.push_back(rows.columns()[column].name);
    rules_.labels = find_mark_form(rules_.labels, rows.peeked(), found.labels, are_texts, findings);
  } else {
    const LabelCells cells{.rows = rows.peeked(),
                           .column = found.labels[0],
                           .name = rows.columns()[found.labels[0]].name,
                           .are_texts = are_texts,
                           .have_names = !rules_.known_labels.empty(),
                           .is_of_pairs = found.text_pair.has_value()};
    rules_.labels = find_label_form(rules_.labels, cells, *rules_.task, is_given, findings);
  }
  add_findings(findings);
}

namespace {

// Leaves out the columns of labels, and the columns that only labelled rows need.
void forget_labels(FoundColumns& columns) {
  columns.labels.clear();
  columns.weight.reset();
  columns.answerable.reset();
  columns.source.reset();
}

}  // namespace

// Warns of labels beside texts that are compared without labels, and remembers their column.
void TableLoader::look_at_unread_labels(const PeekedRows& rows, const FoundColumns& found) {
  const PeekedTable table{rows.columns(), rows.peeked(), rows.is_of_texts()};
  const std::vector<Finding> odd = look_at_labels_of_groups(table, found, *rules_.task);
  if (!odd.empty()) {
    rules_.columns.unread_label =
        table.columns[*find_usual_labels(table.columns, *rules_.task)].name;
  }
  add_findings(odd);
}

void TableLoader::append_rows(std::unique_ptr<RowReader> source) {
  const bool is_given = rules_.task.has_value(), is_first = !has_file_;
  const bool is_of_words = is_given && traits(*rules_.task).inputs == InputKind::kWords;
  // 1. What the first rows say. Where only texts are read, it takes no look at other columns.
  const bool looks = !is_given || is_of_words || rules_.need != LabelNeed::kIgnored;
  has_spans_ = false;
  auto rows = std::make_unique<PeekedRows>(std::move(source), looks ? PeekedRows::kRows : 0);
  if (!is_given || is_of_words) rows = joined(std::move(rows));
  if (!rules_.task) {
    rules_.task = deduce_task({rows->columns(), rows->peeked(), rows->is_of_texts()},
                              rules_.columns, rules_.labels);
  }
  // 2. Which columns are read. find() remembers the names of the first file.
  const std::string tags = rules_.columns.label.empty() ? rules_.columns.tags : "";
  const bool is_named = !rules_.columns.text.empty();
  FoundColumns columns = find(*rows);
  if (is_first && columns.labels.size() == 1) take_classes(rows->columns()[columns.labels[0]]);
  const bool has_header = is_named || !columns.labels.empty();
  if (rules_.need == LabelNeed::kIgnored) forget_labels(columns);
  if (is_first && rows->is_of_texts() && !has_header) warn_of_header(rows->columns()[columns.text]);
  columns.keeps_missing_texts = rules_.keeps_missing_texts;
  columns.max_negatives = rules_.max_negatives;
  if (rules_.ignores_negatives) columns.others.clear();
  columns.text_scores = text_scores_in(rows->columns());
  if (is_first) look_at_unread_labels(*rows, columns);
  columns.leaves_out_unfinished = has_spans_ && !columns.labels.empty();
  if (!tags.empty() && !columns.labels.empty() &&
      find_usual_labels(rows->columns(), *rules_.task) != columns.labels[0]) {
    add_findings(
        {{"column of " + tags + " tags", "column " + quoted(rules_.columns.label) +
                                             " has the tags, as --task " + tags + " says"}});
  }
  if (rules_.need != LabelNeed::kIgnored) {
    columns.answer = find_answer(rows->columns(), rows->peeked(), rules_.columns);
  }
  if (is_first && rules_.need != LabelNeed::kIgnored) {
    add_findings(look_for_splits(rows->columns(), rows->peeked(), indices(columns)));
    add_findings(look_for_refusals(rows->columns(), rows->peeked(), indices(columns)));
  }
  if (lacks_labels(*rows, columns)) columns.labels.clear();
  columns.cuts_words = rules_.columns.cuts_words && columns.labels.empty();
  require_words(*rows, columns);
  if (is_first && !columns.labels.empty() && has_label_forms(*rules_.task)) {
    find_form(*rows, columns, is_given);
  }
  // 3. The rows.
  rows->select(indices(columns));
  const PeekedRows& read = *rows;
  const auto examples =
      make_table_examples(std::move(rows), columns, *rules_.task, rules_.labels, rules_.places);
  append(*examples);
  add_findings(read.findings());
}

void TableLoader::append_records(std::unique_ptr<ByteSource> source) {
  if (rules_.task && traits(*rules_.task).labels == LabelKind::kMaskedId) {
    rules_.need = LabelNeed::kIgnored;
  }
  RecordExamples records =
      make_record_examples(std::move(source), {.task = rules_.task,
                                               .label_names = rules_.record_labels,
                                               .need = rules_.need,
                                               .limits = rules_.token_limits});
  rules_.task = records.task;
  if (records.reader) append(*records.reader);
}

void TableLoader::begin_file(bool is_one_of_several) {
  if (!std::exchange(has_begun_, true) && is_one_of_several) file_rows_.expect_several();
  file_rows_.begin_file(table_->labels.size());
}

std::vector<Finding> TableLoader::look_at_file() const {
  const LabelDictionary& labels = table_->labels;
  if (!rules_.task || !traits(*rules_.task).has_classes ||
      !file_rows_.has_other_labels(labels.size()) || labels.respells(file_rows_.labels_before())) {
    return {};
  }
  return {warning(
      cat("its labels, such as ", quoted(labels.name_of(static_cast<int32_t>(labels.size() - 1))),
          ", are other labels than in the files before it, such as ", quoted(labels.name_of(0)),
          "; if these are two data sets, train on one of them at a time"))};
}

void TableLoader::expect_words(std::span<const Column> columns) {
  if (!rules_.task && columns.size() > 1) rules_.task = usual_task(LabelKind::kTagPerWord);
  if (rules_.columns.text.empty()) rules_.columns.text = columns[0].name;
  if (rules_.columns.label.empty() && columns.size() > 1) rules_.columns.label = columns[1].name;
}

void TableLoader::append_squad(std::unique_ptr<ByteSource> source) {
  rules_.task = usual_task(LabelKind::kSpan);
  append(*make_squad_examples(std::move(source), rules_.need, rules_.places));
}

std::unique_ptr<ExampleTable> TableLoader::finish() {
  const bool is_of_words = rules_.task && traits(*rules_.task).inputs == InputKind::kWords;
  add_findings(ids_.findings());
  for (const Finding& found : findings_) {
    if (table_->rows() > 0 || !found.rule.starts_with(kLeftOut)) continue;
    throw Error(Code::kBadData, cat("all rows were ", found.rule));
  }
  // Also columns that mark no row, because other rows may have the label. They come after the rows,
  // so that the rows have the entries that earlier versions gave them.
  table_->labels.add_classes(marked_);
  try {
    table_->finish();
  } catch (const Error& error) {
    if (!is_of_words || table_->rows() == 0) throw;
    throw Error(error.code(), error.problem(), error.where(),
                "name the column of tags with --label-column");
  }
  if (table_->labels.ignores_case()) {
    add_findings({{"", cat("labels that are written in another case count as ",
                           quoted_list(table_->labels.known()))}});
  }
  if (const auto unmet = table_->labels.unmet_classes(); !unmet.empty()) {
    add_findings(
        {{"classes without rows",
          cat(marked_.empty() ? "the file declares " : "--label-column names ", unmet.size(),
              unmet.size() == 1 ? " class" : " classes", " without a row: ", quoted_list(unmet),
              "; the model has an output for each, and --label-names leaves them out"),
          /*is_warning=*/true}});
  }
  if (table_->labels.has_numbers()) {
    add_findings({{"", cat("numbers in place of labels count these labels, from 0: ",
                           quoted_list(table_->labels.known()))}});
  }
  if (table_->labelled && rules_.known_labels.empty()) {
    add_findings(look_at_names(table_->labels.names(), traits(*rules_.task).labels));
  }
  if (is_of_words && !has_several_texts_ && table_->rows() >= kFewRows) {
    add_findings(
        {warning("every sentence has one word; where each row has a word, --sentence-column names "
                 "the column that says which sentence it belongs to")});
  }
  return std::move(table_);
}

}  // namespace berth
