#include "trainer/data/word_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

// Of longer sentences the memory would grow with the file.
constexpr size_t kMostWords = 100'000;

// Names of columns without regard to case and to what stands between words: "Sentence #" is
// "sentence".
constexpr std::array<std::string_view, 12> kSentenceNames = {
    "sentence_id", "sentenceid",      "sent_id",  "sentid",       "sentence_#",     "sentence_no",
    "sentence_nr", "sentence_number", "sentence", "sentence_idx", "sentence_index", "sent"};
constexpr std::array<std::string_view, 10> kDocumentNames = {
    "doc_id",     "document_id", "docid",    "doc",       "document",
    "article_id", "file",        "filename", "file_name", "file_id"};
constexpr std::array<std::string_view, 5> kWordNames = {"word", "words", "token", "tokens", "form"};
constexpr std::array<std::string_view, 1> kTextNames = {"text"};
constexpr std::array<std::string_view, 8> kTagNames = {"tag",    "tags",  "ner_tags", "ner_tag",
                                                       "labels", "label", "ner",      "pos_tags"};

std::string plain_name(std::string_view name) {
  std::string plain = lower_ascii(trimmed(name));
  std::ranges::replace(plain, ' ', '_');
  std::ranges::replace(plain, '-', '_');
  return plain;
}

std::optional<size_t> find_plain_name(std::span<const Column> columns,
                                      std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (plain_name(columns[i].name) == name) return i;
    }
  }
  return std::nullopt;
}

// Whether a word or tag is missing. A word may be "NA" or "null".
bool is_unfilled(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return std::holds_alternative<std::monostate>(cell) ||
         (text != nullptr && trimmed(*text).empty());
}

// The column of words. berth's own predictions have the numbers of words in the column that is
// called so, and the words in another one.
std::optional<size_t> find_words(std::span<const Column> columns, std::span<const Row> rows) {
  constexpr std::array<std::string_view, 1> kPredictions = {"prediction"};
  const auto word = find_plain_name(columns, kWordNames);
  if (!word || !find_plain_name(columns, kPredictions)) return word;
  const bool has_numbers = std::ranges::all_of(rows, [&](const Row& row) {
    const auto text = plain_text(row[*word]);
    return !text || parse_number(*text);
  });
  if (!has_numbers) return word;
  if (const auto text = find_plain_name(columns, kTextNames)) return text;
  throw Error(Code::kBadData,
              cat("column ", quoted(columns[*word].name),
                  " has the numbers of words, and no column "
                  "has the words"),
              "", "predict with --predictions-with-text");
}

bool is_one_word(const Cell& cell) {
  const std::string text = plain_text(cell).value_or("");
  return !text.empty() && text.find_first_of(" \t\n") == std::string::npos &&
         !(text.size() > 1 && parse_text_list(text));
}

// Whether the tags in a column are IOB tags.
bool have_iob_tags(std::span<const Row> rows, size_t column) {
  size_t entities = 0, others = 0;
  for (const Row& row : rows) {
    const std::string tag = plain_text(row[column]).value_or("");
    entities += is_entity_tag(tag);
    others += !tag.empty() && !is_entity_tag(tag) && !is_filler_tag(tag);
  }
  return are_most_tags(entities, others);
}

// Whether so few of the words are several that they must be errors, or words with a blank.
bool are_few(size_t several, size_t words) { return several * 10 <= words; }

// Whether the cells that say which sentence a word belongs to are ids, and no texts.
bool are_ids(const PeekedTable& first, size_t column) {
  return std::ranges::all_of(first.rows, [&](const Row& row) {
    const std::string id = plain_text(row[column]).value_or("");
    return is_missing(row[column], first.are_texts) || parted(id, " ").size() <= 2;
  });
}

class JoinedWords final : public RowReader {
 public:
  JoinedWords(std::unique_ptr<RowReader> rows, const WordRows& layout)
      : rows_(std::move(rows)), layout_(layout), selected_(rows_->columns().size(), true) {}

  std::span<const Column> columns() const override { return rows_->columns(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::string position() const override { return position_; }

  void select(std::span<const size_t> columns) override {
    std::vector<size_t> wanted(columns.begin(), columns.end());
    wanted.push_back(layout_.sentence);
    if (layout_.document) wanted.push_back(*layout_.document);
    selected_.assign(selected_.size(), false);
    for (const size_t column : wanted) selected_[column] = true;
    rows_->select(wanted);
  }

  bool next(Row& row) override {
    if (!has_next_ && !read()) return false;
    position_ = next_position_;
    document_ = next_document_;
    const size_t columns = rows_->columns().size();
    std::vector<Json> lists(columns, Json::array());
    std::optional<Error> failure;
    std::optional<std::string> id = id_of(next_);
    if (!id) failure = lacks(layout_.sentence);
    const std::string first_id = id.value_or("");
    row.assign(columns, {});
    row[layout_.sentence] = next_[layout_.sentence];
    if (layout_.document) row[*layout_.document] = next_[*layout_.document];
    do {
      for (size_t i = 0; i < columns; ++i) {
        if (is_listed(i)) append(next_[i], lists[i]);
      }
      if (is_unfilled(next_[layout_.word]) && !failure) failure = lacks(layout_.word);
      if (++words_ > kMostWords) {
        words_ = 0;
        throw Error(Code::kBadData, cat("a sentence of more than ", kMostWords, " words"),
                    position_, "--sentence-column names the column that tells sentences apart");
      }
    } while (read() && goes_on(first_id));
    words_ = 0;
    repeats_ = repeats_ || (!layout_.begins_sentence && seen_.size() < kMostIds &&
                            !seen_.insert(cat(document_, "\n", first_id)).second);
    if (failure) throw *failure;
    for (size_t i = 0; i < columns; ++i) {
      if (is_listed(i)) row[i] = to_text(lists[i]);
    }
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = rows_->findings();
    found.push_back(
        {"one word a row",
         cat("each row has one word; column ", quoted(rows_->columns()[layout_.sentence].name),
             " says where a sentence ", layout_.begins_sentence ? "begins" : "ends",
             "; --sentence-column says otherwise")});
    if (splits_) {
      found.push_back(
          {"documents in rows of words",
           cat("a new value of column ", quoted(rows_->columns()[*layout_.document].name),
               " begins a sentence, too, because the numbers of sentences begin anew there")});
    }
    if (repeats_) {
      found.push_back(warning(
          cat("some sentences of column ", quoted(rows_->columns()[layout_.sentence].name),
              " are scattered over the table, and each part is read as a sentence. Write "
              "the rows of a sentence one behind the other, in the order of its words. Where "
              "ids begin anew in each document, add a column doc_id")));
    }
    return found;
  }

 private:
  static constexpr size_t kMostIds = 1'000'000;

  std::optional<std::string> id_of(const Row& row) const {
    const Cell& cell = row[layout_.sentence];
    return is_missing(cell, is_of_texts()) ? std::nullopt : plain_text(cell);
  }

  static void append(const Cell& cell, Json& list) {
    const std::optional<std::string> text = plain_text(cell);
    list.push_back(text ? Json(*text) : Json());
  }

  // Whether the row that was read belongs to the sentence before it.
  bool goes_on(const std::string& id) {
    const std::optional<std::string> next = id_of(next_);
    if (layout_.begins_sentence) return !next;
    if (next != id) return false;
    splits_ = splits_ || next_document_ != document_;
    return next_document_ == document_;
  }

  // Whether the cells of a column become a list.
  bool is_listed(size_t column) const {
    return selected_[column] && column != layout_.sentence && column != layout_.document;
  }

  Error lacks(size_t column) const {
    return Error(Code::kBadData,
                 cat("the cell of column ", quoted(columns()[column].name), " is empty"),
                 next_position_, "fill it in, or leave such rows out with --skip-bad-rows N");
  }

  bool read() {
    has_next_ = rows_->next(next_);
    if (!has_next_) return false;
    next_position_ = rows_->position();
    if (layout_.document && !is_missing(next_[*layout_.document], is_of_texts())) {
      next_document_ = plain_text(next_[*layout_.document]).value_or("");
    }
    return true;
  }

  const std::unique_ptr<RowReader> rows_;
  const WordRows layout_;
  std::vector<bool> selected_;
  Row next_;  // of the next sentence, where has_next_
  bool has_next_ = false;
  std::string position_, next_position_;
  size_t words_ = 0;  // of the sentence that is being read
  std::unordered_set<std::string> seen_;
  bool repeats_ = false;
  std::string document_, next_document_;  // of the sentence, and of the row that was read
  bool splits_ = false;                   // whether a document alone has ended a sentence
};

}  // namespace

std::optional<WordRows> find_word_rows(const PeekedTable& first, const ColumnChoice& choice,
                                       const std::string& sentence_column,
                                       std::optional<Task> task) {
  const std::span<const Column> columns = first.columns;
  const std::span<const Row> rows = first.rows;
  const auto named = [&](const std::string& name) { return find_column(columns, name); };
  const bool is_given = !sentence_column.empty();
  if ((task && traits(*task).inputs != InputKind::kWords) || rows.empty()) return std::nullopt;
  if (is_given && sentence_column == "none" && !named("none")) return std::nullopt;
  const auto sentence =
      is_given ? named(sentence_column) : find_plain_name(columns, kSentenceNames);
  if (is_given && !sentence) {
    const std::string names =
        joined(columns, ", ", [&](const Column& column) { return quoted(column.name); });
    throw Error(Code::kBadData, cat("there is no column ", quoted(sentence_column),
                                    " (--sentence-column); the columns are ", names));
  }
  auto word = choice.text.empty() ? find_words(columns, rows) : named(choice.text);
  const auto tag = choice.label.empty() ? find_plain_name(columns, kTagNames) : named(choice.label);
  const bool are_surely_words = is_given || task || (tag && have_iob_tags(rows, *tag));
  const bool are_words = are_surely_words || (sentence && are_ids(first, *sentence));
  if (!word && are_words) word = find_plain_name(columns, kTextNames);
  if (is_given && !word) {
    throw Error(Code::kBadData, "no column has a usual name for words", "",
                "--text-column names it, and --sentence-column needs it");
  }
  if (!sentence || !word || *word == *sentence) return std::nullopt;
  if (!task && !is_given && choice.label.empty() && !tag) return std::nullopt;
  WordRows layout{.sentence = *sentence, .word = *word};
  bool repeats = false;
  size_t words = 0, several = 0, missing_ids = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Cell& id = rows[i][*sentence];
    const bool is_missing_id = is_missing(id, first.are_texts);
    missing_ids += is_missing_id;
    if (i > 0) repeats = repeats || (!is_missing_id && id == rows[i - 1][*sentence]);
    const bool is_word = !is_unfilled(rows[i][*word]);
    words += is_word;
    several += is_word && !is_one_word(rows[i][*word]);
  }
  layout.begins_sentence = missing_ids > 0;
  if (!is_given && !are_few(several, words)) return std::nullopt;
  if (!are_surely_words && !repeats && are_few(missing_ids, rows.size())) return std::nullopt;
  if (!is_given && !repeats && !layout.begins_sentence) return std::nullopt;
  layout.document = find_plain_name(columns, kDocumentNames);
  if (layout.document == layout.sentence || layout.document == layout.word) layout.document = {};
  return layout;
}

void require_sentences(std::span<const Column> columns, std::span<const Row> rows,
                       const ColumnChoice& choice, const std::string& sentence_column,
                       std::optional<Task> task) {
  if (sentence_column == "none" || (task && traits(*task).inputs != InputKind::kWords)) return;
  const auto label = choice.label.empty() ? find_plain_name(columns, kTagNames)
                                          : find_column(columns, choice.label);
  auto word = choice.text.empty() ? find_plain_name(columns, kWordNames)
                                  : find_column(columns, choice.text);
  if (!word && label && columns.size() == 2) word = 1 - *label;
  if (!word) word = find_plain_name(columns, kTextNames);
  if (!word || !label || word == label) return;
  size_t words = 0, several = 0;
  for (const Row& row : rows) {
    if (is_unfilled(row[*word]) && is_unfilled(row[*label])) continue;
    several += !is_one_word(row[*word]);
    ++words;
  }
  if (words < 2 || !are_few(several, words) || !have_iob_tags(rows, *label)) return;
  throw Error(
      Code::kBadData, cat("each row has one word, and no column says which sentence it belongs to"),
      "",
      "--sentence-column names that column, and \"none\" reads each row as a sentence. A file of "
      "lines with a word, a tab and a tag, and a blank line after each sentence, is called .conll");
}

bool names_word_rows(std::span<const Column> columns) {
  const auto sentence = find_plain_name(columns, kSentenceNames),
             word = find_plain_name(columns, kWordNames),
             text = find_plain_name(columns, kTextNames);
  return sentence && (word || text) && sentence != word;
}

std::unique_ptr<RowReader> join_words(std::unique_ptr<RowReader> rows, const WordRows& layout) {
  return std::make_unique<JoinedWords>(std::move(rows), layout);
}

}  // namespace berth
