#include "trainer/data/word_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
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
constexpr std::array<std::string_view, 5> kWordNames = {"word", "words", "token", "tokens", "form"};
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

bool is_unfilled(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return std::holds_alternative<std::monostate>(cell) ||
         (text != nullptr && trimmed(*text).empty());
}

bool is_one_word(const Cell& cell) {
  const std::string text = plain_text(cell).value_or("");
  return !text.empty() && text.find_first_of(" \t\n") == std::string::npos &&
         !(text.size() > 1 && parse_text_list(text));
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
    selected_.assign(selected_.size(), false);
    for (const size_t column : wanted) selected_[column] = true;
    rows_->select(wanted);
  }

  bool next(Row& row) override {
    if (!has_next_ && !read()) return false;
    position_ = next_position_;
    const size_t columns = rows_->columns().size();
    std::vector<Json> lists(columns, Json::array());
    std::optional<Error> failure;
    std::optional<std::string> id = id_of(next_);
    if (!id) failure = lacks(layout_.sentence);
    const std::string first_id = id.value_or("");
    row.assign(columns, {});
    row[layout_.sentence] = next_[layout_.sentence];
    do {
      for (size_t i = 0; i < columns; ++i) {
        if (i != layout_.sentence && selected_[i]) append(next_[i], lists[i]);
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
                            !seen_.insert(first_id).second);
    if (failure) throw *failure;
    for (size_t i = 0; i < columns; ++i) {
      if (i != layout_.sentence && selected_[i]) row[i] = to_text(lists[i]);
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
    if (repeats_) {
      found.push_back(
          {"",
           cat("some sentences of column ", quoted(rows_->columns()[layout_.sentence].name),
               " are scattered over the table, and each part is read as a sentence; "
               "sort the rows"),
           /*is_warning=*/true});
    }
    return found;
  }

 private:
  static constexpr size_t kMostIds = 1'000'000;

  std::optional<std::string> id_of(const Row& row) const {
    const Cell& cell = row[layout_.sentence];
    return is_unfilled(cell) ? std::nullopt : plain_text(cell);
  }

  static void append(const Cell& cell, Json& list) {
    const std::optional<std::string> text = plain_text(cell);
    list.push_back(text ? Json(*text) : Json());
  }

  // Whether the row that was read belongs to the sentence before it.
  bool goes_on(const std::string& id) const {
    const std::optional<std::string> next = id_of(next_);
    return layout_.begins_sentence ? !next : next == id;
  }

  Error lacks(size_t column) const {
    return Error(Code::kBadData,
                 cat("the cell of column ", quoted(columns()[column].name), " is empty"),
                 next_position_, "fill it in, or leave such rows out with --skip-bad-rows N");
  }

  bool read() {
    has_next_ = rows_->next(next_);
    if (has_next_) next_position_ = rows_->position();
    return has_next_;
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
};

}  // namespace

std::optional<WordRows> find_word_rows(std::span<const Column> columns, std::span<const Row> rows,
                                       const ColumnChoice& choice,
                                       const std::string& sentence_column,
                                       std::optional<Task> task) {
  const auto named = [&](const std::string& name) { return find_column(columns, name); };
  const bool is_given = !sentence_column.empty();
  if ((task && traits(*task).inputs != InputKind::kWords) || rows.empty()) return std::nullopt;
  if (is_given && sentence_column == "none" && !named("none")) return std::nullopt;
  const auto sentence =
      is_given ? named(sentence_column) : find_plain_name(columns, kSentenceNames);
  if (is_given && !sentence) {
    std::string names;
    for (const Column& column : columns) names += (names.empty() ? "" : ", ") + quoted(column.name);
    throw Error(Code::kBadData, cat("there is no column ", quoted(sentence_column),
                                    " (--sentence-column); the columns are ", names));
  }
  const auto word = choice.text.empty() ? find_plain_name(columns, kWordNames) : named(choice.text);
  const bool has_tags = !choice.label.empty() || find_plain_name(columns, kTagNames).has_value();
  if (!sentence || !word || *word == *sentence || (!task && !has_tags)) return std::nullopt;
  WordRows layout{.sentence = *sentence, .word = *word};
  bool repeats = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Cell& id = rows[i][*sentence];
    if (is_unfilled(id)) layout.begins_sentence = true;
    if (i > 0) repeats = repeats || (!is_unfilled(id) && id == rows[i - 1][*sentence]);
    if (!is_given && !is_unfilled(rows[i][*word]) && !is_one_word(rows[i][*word]))
      return std::nullopt;
  }
  if (!is_given && !repeats && !layout.begins_sentence) return std::nullopt;
  return layout;
}

bool names_word_rows(std::span<const Column> columns) {
  const auto sentence = find_plain_name(columns, kSentenceNames),
             word = find_plain_name(columns, kWordNames);
  return sentence && word && sentence != word && find_plain_name(columns, kTagNames);
}

std::unique_ptr<RowReader> join_words(std::unique_ptr<RowReader> rows, const WordRows& layout) {
  return std::make_unique<JoinedWords>(std::move(rows), layout);
}

}  // namespace berth
